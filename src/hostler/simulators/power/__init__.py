"""Simulated power: machines behind plugs and management controllers, which misbehave as told."""
