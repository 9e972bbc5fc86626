"""The command line: it writes requests, reads records, asks for plans, and starts the engine."""
