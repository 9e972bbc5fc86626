"""Is the plugin installed right?."""
