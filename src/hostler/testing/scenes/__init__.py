"""Builders of plain values."""
