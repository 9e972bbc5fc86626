"""Fleets: objects of a namespace as what the engine runs, and how that stands written on them."""
