"""The provider kit: a rig that a provider's author writes, and the checks that run against it.

Write a `Rig` (rig.py), then call `run_all` (suite.py), or give `CHECKS` to pytest one by one.
"""
