"""The schema that a runner speaks: found in its executable, understood, and bound to a group."""
