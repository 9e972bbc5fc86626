"""Messages read and written."""
