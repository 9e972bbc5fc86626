"""Where machines come from: one package for each sort of provider."""
