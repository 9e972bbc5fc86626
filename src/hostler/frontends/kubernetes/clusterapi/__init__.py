"""Cluster API: an infrastructure provider whose machines are asked for by name on the engine."""
