"""IPMI: what speaks it: a library where it is installed, else a program."""
