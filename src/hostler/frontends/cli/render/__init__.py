"""Read models as tables and as JSON."""
