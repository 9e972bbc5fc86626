"""Log lines for the host: their format, where they are written, and events sent to them."""
