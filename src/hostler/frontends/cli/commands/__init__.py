"""One file a group of verbs."""
