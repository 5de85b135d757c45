"""Report the state of a namespace to Prometheus, with a bounded number of label values."""
