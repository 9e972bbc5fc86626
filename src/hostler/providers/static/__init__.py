"""Static: hosts that exist anyway, claimed one by one over SSH and given back."""
