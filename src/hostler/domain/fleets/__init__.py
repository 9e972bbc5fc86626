"""Many machines: how many, of what, whose request, whose orphan."""
