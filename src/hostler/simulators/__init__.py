"""Worlds that behave as providers do, for tests, simulations and demonstrations.

They share nothing with our providers, so that one misunderstanding is not on both sides.
"""
