"""Real sockets of simulated machines."""
