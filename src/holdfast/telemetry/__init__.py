"""Export the activity of clients to OpenTelemetry or Prometheus.

Pass an `OpenTelemetry` or a `PrometheusMetrics` to a client, as in
`Holdfast(…, telemetry=OpenTelemetry())`. The client then reports its operations through the
protocol in `holdfast.core.telemetry`. No other package imports this one, so the libraries of
OpenTelemetry and Prometheus stay optional.
"""
