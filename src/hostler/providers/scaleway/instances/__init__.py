"""Scaleway Instances as a provider."""
