"""The loop: when to observe, who may write, how a cycle goes. Sees ports and the domain only."""
