"""Read models for people: history and usage."""
