"""What the controllers need from the world, as protocols whose docstrings are promises."""
