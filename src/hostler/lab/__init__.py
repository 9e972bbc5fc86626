"""Experiments: the demo, and the program in simulated disasters."""
