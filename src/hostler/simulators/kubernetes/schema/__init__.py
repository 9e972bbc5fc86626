"""Schemas of definitions: defaults, pruning, validation."""
