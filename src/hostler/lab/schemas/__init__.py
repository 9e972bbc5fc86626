"""Schemas that nobody has seen: drawn from a seed, served by the plugin, and judged."""
