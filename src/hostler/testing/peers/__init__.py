"""Real counterparts on loopback."""
