"""The ground floor: values and pure functions; no clock, randomness, logging or environment."""
