"""Kubernetes in simulations: our client over the simulated API server, in one process."""
