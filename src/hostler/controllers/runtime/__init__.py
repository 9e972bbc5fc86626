"""What every controller of a process shares."""
