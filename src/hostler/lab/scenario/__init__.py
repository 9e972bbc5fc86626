"""One seed: a scenario, its environment, disruptions, an operator, a run."""
