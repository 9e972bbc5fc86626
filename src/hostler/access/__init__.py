"""SSH access to machines: adapters of the ports prober, preparer, asker."""
