"""Cluster Autoscaler: its externalgrpc provider, served."""
