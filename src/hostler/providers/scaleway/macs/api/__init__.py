"""Endpoints and bodies of Apple silicon."""
