"""The HTTP client and what both products share."""
