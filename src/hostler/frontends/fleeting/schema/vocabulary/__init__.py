"""Names and what they mean."""
