"""Definitions of our kinds, made from the tables of the fleet file."""
