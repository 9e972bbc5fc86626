"""Buying policies replayed against recorded or generated demand."""
