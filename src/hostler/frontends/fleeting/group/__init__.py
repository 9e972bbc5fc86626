"""The seven calls, answered from records."""
