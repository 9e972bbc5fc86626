"""The store in one SQLite file: embedded, nothing to install, one engine for each file."""
