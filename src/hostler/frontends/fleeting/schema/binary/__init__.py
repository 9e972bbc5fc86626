"""Descriptors found in an executable."""
