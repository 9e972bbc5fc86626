"""Frontends: they write requests and read records, and never act on machines."""
