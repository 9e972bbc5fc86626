"""Endpoints of Instances."""
