"""Pure: which calls come next."""
