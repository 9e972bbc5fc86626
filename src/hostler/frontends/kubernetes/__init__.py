"""Kubernetes: fleets, providers and hosts as objects of a cluster, beside or instead of a file."""
