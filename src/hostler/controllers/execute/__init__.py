"""Send calls: each recorded, gated, sent, its outcome applied."""
