"""Cluster Autoscaler over owned machines: a model of its core, and a judge of what it is answered."""
