"""The simulated Scaleway in a run: its world, its transport, whoever else is there."""
