"""Exhaustive state-space exploration of small worlds."""
