"""Values that are written under a fence."""
