"""Servers: the simulation of fleets of servers that are created and deleted."""
