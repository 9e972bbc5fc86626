"""Observe, and gather one snapshot."""
