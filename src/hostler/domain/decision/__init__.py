"""Decision: the stages of one decision, from a snapshot to commands."""
