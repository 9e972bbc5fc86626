"""Rules on plain values: they know ids and times, no record, no observation."""
