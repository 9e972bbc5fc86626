"""Doors: they write wishes and read records, and never act on machines."""
