"""What the API shows, as resources."""
