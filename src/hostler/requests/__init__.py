"""What may be asked of a fleet, a machine or a host: checked, accepted or refused, recorded."""
