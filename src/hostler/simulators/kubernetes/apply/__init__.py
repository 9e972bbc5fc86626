"""Server-side apply: who owns which fields."""
