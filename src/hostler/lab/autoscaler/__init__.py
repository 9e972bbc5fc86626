"""Cluster Autoscaler over owned machines: its core, and a judge of every answer."""
