"""Kubernetes' own programs, and Cluster API's core: built once, and run on loopback."""
