"""What the command line, the dashboard and `/metrics` share: one survey, one set of formatters."""
