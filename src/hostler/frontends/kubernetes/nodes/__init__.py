"""Nodes of a cluster that are machines of ours: ready or not, cordoned, drained, removed."""
