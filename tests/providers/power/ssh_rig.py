"""A rig of a real SSH server on loopback, whose commands a test serves."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

import asyncssh
from power_rig import SETTLES

USER_KEY = asyncssh.generate_private_key("ssh-ed25519")  # pyright: ignore[reportUnknownMemberType] - untyped there
HOST_KEY = asyncssh.generate_private_key("ssh-ed25519")  # pyright: ignore[reportUnknownMemberType] - untyped there
Serve = Callable[[asyncssh.SSHServerProcess[str]], Awaitable[None]]


@asynccontextmanager
async def listening(folder: Path, serve: Serve) -> AsyncGenerator[dict[str, object]]:
    """Serve commands to whoever has the user's key; give what a method's table says of it."""
    key = folder / "key"
    key.write_bytes(USER_KEY.export_private_key())
    server = await asyncssh.create_server(
        asyncssh.SSHServer,
        "127.0.0.1",
        0,
        server_host_keys=[HOST_KEY],
        authorized_client_keys=asyncssh.import_authorized_keys(
            USER_KEY.export_public_key().decode()
        ),
        process_factory=serve,
    )
    async with server:
        yield {
            "address": "127.0.0.1",
            "port": server.sockets[0].getsockname()[1],
            "fingerprint": HOST_KEY.get_fingerprint(),
            "key": str(key),
            "deadline": timedelta(seconds=5),
            "settles": SETTLES,
        }
