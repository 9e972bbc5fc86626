"""The go-plugin layer: what any plugin process owes the Go program that launched it."""
