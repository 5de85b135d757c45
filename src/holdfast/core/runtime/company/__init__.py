"""Those who want the same at the same moment."""
