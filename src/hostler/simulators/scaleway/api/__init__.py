"""What every endpoint needs."""
