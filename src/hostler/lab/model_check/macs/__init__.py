"""Two Macs, one or two installations, a person."""
