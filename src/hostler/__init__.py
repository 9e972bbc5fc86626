"""hostler keeps hosts: a self-healing lifecycle manager for fleets of machines."""
