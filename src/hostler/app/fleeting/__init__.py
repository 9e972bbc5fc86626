"""The plugin put together, its doctor and its schema tools."""
