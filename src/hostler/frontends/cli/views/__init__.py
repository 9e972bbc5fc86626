"""Read models, pure: how a fleet or host stands."""
