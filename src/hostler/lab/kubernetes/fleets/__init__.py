"""Fleets and Hosts in simulations: people write objects, and an engine runs what they say."""
