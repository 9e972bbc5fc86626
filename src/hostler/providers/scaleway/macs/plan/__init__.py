"""Pure: which calls come next for a machine or a host."""
