"""Rules on plain values: know ids and times, no record, no look."""
