"""The suite of the Kubernetes API: what a server must answer that stands in for the real one.

It speaks HTTP and nothing of ours, so that it judges our simulator and Kubernetes alike.
"""
