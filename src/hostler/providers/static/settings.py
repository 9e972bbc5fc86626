"""Settings: which hosts there are, and what the fleet file may say of them."""

from datetime import timedelta
from pathlib import Path
from typing import Annotated

from msgspec import Meta, Struct

from hostler.domain.ids import Zone
from hostler.ports.kind import INVENTORY, POSITIVE

NAME = r"^[A-Za-z0-9][A-Za-z0-9._:-]{0,126}$"
A_NAME = {"expected": "letters, digits and . _ : - (it becomes part of an id)"}
FINGERPRINT = r"^SHA256:[A-Za-z0-9+/]{43}=?$"
GROUP = "static"
DEADLINE = timedelta(seconds=30)
"""How long one login with its command may take."""
CONSISTENCY_DELAY = timedelta(seconds=30)
"""How long a command may go on after its login broke off."""

Name = Annotated[str, Meta(pattern=NAME, extra=A_NAME)]


class HostTable(Struct, frozen=True, kw_only=True):
    """One host of a [[provider.NAME.hosts]] list."""

    address: Annotated[Name, Meta(description="its address or name in the network")]
    name: Annotated[
        Name | None, Meta(description="what it is called here; left out: its address")
    ] = None
    port: Annotated[int, Meta(ge=1, le=65535, description="the port of its SSH server")] = 22
    user: Annotated[
        Annotated[str, Meta(min_length=1)] | None,
        Meta(description="its login; left out: the provider's"),
    ] = None
    key: Annotated[
        str | None, Meta(description="the file of a private key; left out: the provider's")
    ] = None
    fingerprint: Annotated[
        Annotated[
            str,
            Meta(pattern=FINGERPRINT, extra={"expected": 'a fingerprint such as "SHA256:…"'}),
        ]
        | None,
        Meta(
            description="of its host key, as `ssh-keygen -lf` prints it; left out: the key that it "
            "shows first is put on its record and must stay"
        ),
    ] = None
    group: Annotated[Name, Meta(description="the group that it belongs to: a zone of its own")] = (
        GROUP
    )


class StaticTable(Struct, frozen=True, kw_only=True):
    """A [provider.NAME] table of kind `static`."""

    hosts: Annotated[tuple[HostTable, ...], Meta(extra=INVENTORY, description="the hosts")]
    user: Annotated[str, Meta(min_length=1, description="the login at hosts that name none")] = (
        "root"
    )
    key: Annotated[
        str | None,
        Meta(
            description="the file of the private key, without a passphrase, seen from the fleet "
            "file; left out: what the SSH agent and ~/.ssh offer"
        ),
    ] = None
    patience: Annotated[
        timedelta,
        Meta(
            extra=POSITIVE,
            description="how long a host may be silent before it counts as off, while at least "
            "half of its group answers",
        ),
    ] = timedelta(minutes=5)


class StaticTemplate(Struct, frozen=True, kw_only=True):
    """What a [fleet.NAME] table says of static hosts."""

    groups: Annotated[
        tuple[Name, ...], Meta(min_length=1, description="the groups to claim from, in order")
    ] = (GROUP,)
    release: Annotated[
        str,
        Meta(
            description="a shell command that cleans a host before it is given back; it runs there "
            "once for each machine, for as long as it takes, and again only if it failed"
        ),
    ] = ""


class Host(Struct, frozen=True, kw_only=True):
    """One host, with everything that it takes to log in; `fingerprint` is empty where unknown."""

    name: str
    address: str
    zone: Zone
    port: int = 22
    user: str = "root"
    key: Path | None = None
    fingerprint: str = ""


def hosts_of(table: StaticTable, folder: Path) -> tuple[Host, ...]:
    """Return the hosts in the order of the file; relative key files are seen from `folder`."""
    return tuple(_host(entry, table, folder) for entry in table.hosts)


def _host(entry: HostTable, table: StaticTable, folder: Path) -> Host:
    key = entry.key or table.key
    return Host(
        name=entry.name or entry.address,
        address=entry.address,
        zone=Zone(entry.group),
        port=entry.port,
        user=entry.user or table.user,
        key=folder / Path(key).expanduser() if key else None,
        fingerprint=(entry.fingerprint or "").rstrip("="),
    )
