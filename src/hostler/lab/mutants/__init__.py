"""Mutation tests of the simulations: planted bugs that must be caught."""
