"""What tests of the chart share: who an account is to the server."""

from pathlib import Path

import msgspec
from api_server import ApiServer


def kubeconfig_of(server: ApiServer, token: str) -> Path:
    """Return a kubeconfig like the server's own, for whoever has this token."""
    config = msgspec.json.decode(server.kubeconfig.read_bytes())
    config["users"] = [{"name": "account", "user": {"token": token}}]
    context = {"cluster": config["clusters"][0]["name"], "user": "account"}
    config["contexts"] = [{"name": "account", "context": context}]
    config["current-context"] = "account"
    path = server.folder / "account.kubeconfig"
    path.touch(0o600)
    path.write_bytes(msgspec.json.encode(config))
    return path
