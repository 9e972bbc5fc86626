"""Macs: the simulation of fleets on leased hosts, and the check of a small world of two."""
