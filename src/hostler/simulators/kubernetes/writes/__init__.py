"""What changes objects: creation, replacement, patches, deletion."""
