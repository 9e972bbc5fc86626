"""One seed: climate, environment, disruptions, an operator, a run."""
