"""The demo of Kubernetes: Macs as Machines of Cluster API, beside a control plane that is real."""
