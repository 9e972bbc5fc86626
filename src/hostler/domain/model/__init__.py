"""The records and values that everything else is about."""
