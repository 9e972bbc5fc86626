"""The store in a Kubernetes cluster: a journal of custom resources, and nothing else to install."""
