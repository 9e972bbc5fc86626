"""The ground floor: values and pure functions. No await, clock, randomness, logging or environment."""
