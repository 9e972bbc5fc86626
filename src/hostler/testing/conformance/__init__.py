"""Conformance: suites of checks that every adapter of a port passes, ours and other people's."""
