"""Controllers: what runs beside an API server in every cluster, as far as clients depend on it."""
