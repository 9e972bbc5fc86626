"""A rack of machines over many protocols at once, on loopback, with a page of its lights."""
