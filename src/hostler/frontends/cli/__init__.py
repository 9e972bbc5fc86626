"""The command line: it writes wishes, reads records, asks for plans, and starts the engine."""
