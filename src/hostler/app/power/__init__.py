"""Commands that switch one machine once, without a fleet: what a Job in our image runs."""
