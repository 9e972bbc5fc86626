"""Scenes that tests and demos stage."""
