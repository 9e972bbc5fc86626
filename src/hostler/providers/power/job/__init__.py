"""Jobs of Kubernetes that switch a machine: what they are, and how one of them is run."""
