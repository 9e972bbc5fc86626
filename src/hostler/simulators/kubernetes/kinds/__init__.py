"""Kinds that the server serves: its own, and those of definitions."""
