"""Methods: ways to a machine's power."""
