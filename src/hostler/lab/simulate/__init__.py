"""The command simulate: what providers are simulated, seeds run side by side, and their report."""
