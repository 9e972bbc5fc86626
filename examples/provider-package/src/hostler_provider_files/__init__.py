"""A provider for hostler in a package of its own: a toy cloud whose servers are folders."""
