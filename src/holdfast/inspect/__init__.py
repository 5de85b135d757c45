"""Read and format the state of a namespace, for the command line, the dashboard and `/metrics`."""
