"""Faults: named, drawn, and struck."""
