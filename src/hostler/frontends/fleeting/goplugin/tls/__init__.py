"""Mutual TLS as go-plugin asks for it: keys, certificates, and the context of the server."""
