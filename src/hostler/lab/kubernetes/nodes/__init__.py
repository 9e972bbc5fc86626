"""Nodes in simulations: kubelets, Pods that come and go, and the judge of drains."""
