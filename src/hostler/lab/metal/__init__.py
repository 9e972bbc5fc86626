"""Simulation of owned metal: boxes in a rack that are switched on and off."""
