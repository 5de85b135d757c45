"""The dashboard: every block of one namespace in a browser, to look at and to operate."""
