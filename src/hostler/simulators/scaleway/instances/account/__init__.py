"""Keys, quotas, what is for sale."""
