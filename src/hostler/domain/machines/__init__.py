"""One machine: followed, provisioned, repaired, ended."""
