"""What records, answers and looks prove together."""
