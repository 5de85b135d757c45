"""Telemetry for other programs: OpenTelemetry and Prometheus.

A client gets one of them, `Holdfast(…, telemetry=OpenTelemetry())`, and reports to it what it does:
see `holdfast.core.telemetry`. No other package imports this one, or the libraries behind it.
"""
