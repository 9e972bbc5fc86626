"""Our calls laid onto one service."""
