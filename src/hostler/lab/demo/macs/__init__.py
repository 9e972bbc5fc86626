"""The demo of Macs: a week of hosts that outlive machines, in simulated time."""
