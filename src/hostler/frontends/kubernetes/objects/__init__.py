"""Objects of our kinds, read as the tables of a fleet file."""
