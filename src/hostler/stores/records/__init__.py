"""What every store needs: documents, claims, the past, and the records with their rules."""
