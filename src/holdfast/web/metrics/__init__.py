"""The state of a namespace for Prometheus, with a bounded number of labels."""
