"""Owned machines that are switched on and off: ways to their power, one file a method."""
