"""What the server remembers: objects, versions, changes."""
