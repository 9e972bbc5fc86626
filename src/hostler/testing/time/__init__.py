"""Simulated time."""
