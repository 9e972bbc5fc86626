"""Scaleway: Instances, spoken to by a thin client of our own."""
