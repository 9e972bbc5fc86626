"""The store kit: a way to open stores, written by a store's author, and the checks on them.

Write `Stores` (records.py), then call `run_all`, or give `CHECKS` to pytest one by one.
"""
