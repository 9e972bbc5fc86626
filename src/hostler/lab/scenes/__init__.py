"""Stands for staged scenes, used by tests and demos."""
