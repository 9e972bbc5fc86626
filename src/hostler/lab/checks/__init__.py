"""What is true against what was recorded and asked."""
