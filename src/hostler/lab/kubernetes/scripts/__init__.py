"""Scripts in simulations: bootstrap data that runs at simulated hosts, over SSH that breaks."""
