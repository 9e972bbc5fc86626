"""The metrics door: counts and gauges for Prometheus, and two words on health."""
