"""The Apple silicon part of the simulated Scaleway: hosts with a lease, under `/apple-silicon/`."""
