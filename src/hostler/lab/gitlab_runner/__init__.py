"""A model of GitLab Runner's autoscaler over a plugin's group, in simulated time."""
