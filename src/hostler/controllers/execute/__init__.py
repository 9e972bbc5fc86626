"""Send calls: each recorded, gated, sent, folded."""
