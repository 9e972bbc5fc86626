"""Look, and gather one snapshot."""
