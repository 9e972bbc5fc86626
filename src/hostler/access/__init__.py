"""Access to machines and services: SSH (prober, preparer, asker, shell) and HTTP (transport)."""
