"""Owned machines by their methods: the real provider `power` over endpoints that misbehave."""
