"""The executables: the one room that knows every adapter."""
