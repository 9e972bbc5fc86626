"""`hostler demo`: servers, and the screen that both demos share."""
