"""Commands about a Kubernetes cluster, put together from the frontend and the command line."""
