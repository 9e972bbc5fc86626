"""Apple silicon: Mac minis that are claimed from a pool, wiped on return, and ended on purpose."""
