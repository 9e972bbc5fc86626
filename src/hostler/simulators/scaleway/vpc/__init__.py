"""Endpoints of private networks: VPCs, networks, routes, and IPAM."""
