"""What records, answers and observations prove together."""
