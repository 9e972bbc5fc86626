"""What becomes of a request, and of resources without one."""
