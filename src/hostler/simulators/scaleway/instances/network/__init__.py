"""Addresses, cards, security groups."""
