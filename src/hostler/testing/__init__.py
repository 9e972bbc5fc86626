"""Kits: the fakes of ports and the suites that third parties run against their adapters."""
