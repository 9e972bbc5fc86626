"""Machines that are created and destroyed."""
