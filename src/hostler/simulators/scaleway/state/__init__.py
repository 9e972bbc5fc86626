"""What exists, when things happen, what it costs."""
