"""Rolls in simulations: Machines on Macs inside their billing floor are replaced one by one."""
