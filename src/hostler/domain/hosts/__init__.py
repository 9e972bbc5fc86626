"""What outlives machines: claimed, wiped, bought, retired."""
