"""The metrics frontend: counters and gauges for Prometheus, and two health endpoints."""
