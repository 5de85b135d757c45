"""Telemetry for other programs: OpenTelemetry and Prometheus.

A client is given one of them, `Holdfast(…, telemetry=OpenTelemetry())`, and tells it what it does;
see `holdfast.core.telemetry` for what that is. Nothing else imports this package, or theirs.
"""
