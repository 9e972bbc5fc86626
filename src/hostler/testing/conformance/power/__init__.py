"""The suite of the power port: every promise as a check that a method passes over a rig."""
