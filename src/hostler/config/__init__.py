"""The fleet file: one TOML file, decoded in one place, with all its errors shown at once."""
