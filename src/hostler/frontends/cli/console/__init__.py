"""Screen, exit codes, options, formats."""
