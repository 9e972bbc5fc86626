"""The domain: values and pure functions; no clock, randomness, logging or environment."""
