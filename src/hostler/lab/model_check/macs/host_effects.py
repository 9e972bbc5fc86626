"""What becomes of a Mac, seen and unseen, as it is written to and waits."""

from collections.abc import Mapping

from msgspec.structs import replace

from hostler.domain.ids import FleetName, InstallationId, MachineId
from hostler.domain.model.resource import Stage
from hostler.lab.macs.names import HostName, digest_of, read_name

from .calls import HOSTS, POOL, READY
from .observations import Home
from .values import PERSON, THEIRS, Box


class Mirror:
    """Shows Macs as they would be if the two installations changed their places."""

    def __init__(self, one: Home, other: Home) -> None:
        self._ids: Mapping[str, str] = {
            **_both(one.installation, other.installation),
            **_both(one.fleet, other.fleet),
            **{
                k: v
                for a, b in zip(one.ids, other.ids, strict=True)
                for k, v in _both(a, b).items()
            },
        }

    def boxes(self, boxes: tuple[Box, ...]) -> tuple[Box, ...]:
        """Return the Macs."""
        return tuple(box._replace(name=self._text(box.name), user=self._user(box)) for box in boxes)

    def _user(self, box: Box) -> MachineId | None:
        return None if box.user is None else MachineId(self._ids.get(box.user, box.user))

    def _text(self, text: str) -> str:
        name = read_name(text)
        if name is None:
            return text
        return str(
            replace(
                name,
                installation=InstallationId(self._ids[name.installation]),
                fleet=FleetName(self._ids[name.fleet]),
                machine=MachineId(self._ids[name.machine]),
            )
        )


def _both(one: str, other: str) -> dict[str, str]:
    return {one: other, other: one}


def claim_of(home: Home) -> str:
    """Return the name that says that an installation's first machine has claimed a host."""
    return str(
        HostName(
            stage=Stage.CLAIMED,
            installation=home.installation,
            fleet=home.fleet,
            machine=home.ids[0],
            pool=digest_of(POOL),
        )
    )


def claimant(text: str) -> MachineId | None:
    """Return the machine that a name says has claimed the host, or None."""
    name = read_name(text)
    return name.machine if name is not None and name.stage is Stage.CLAIMED else None


def pending_for(text: str) -> InstallationId | None:
    """Return the installation whose pending tag a name is, or None."""
    name = read_name(text)
    return name.installation if name is not None and name.stage is Stage.PENDING else None


def ticked(box: Box) -> Box:
    """Return the Mac a tick later: a person who still finds a name of their own there uses it."""
    return box._replace(user=PERSON) if box.name == THEIRS else box


def wiped(box: Box) -> Box:
    """Return the Mac wiped: whoever claimed it uses it again, unless a person wrote that name."""
    return box._replace(status=READY, user=None if box.torn else claimant(box.name))


def renamed(box: Box, text: str) -> Box:
    """Return the Mac under a name that a program gave it."""
    pool = text.startswith(POOL)
    return Box(
        name=text,
        status=box.status,
        user=claimant(text) or box.user,
        torn=box.torn and not pool,
        double=box.double and not pool,
    )


def unwiped(box: Box, text: str, host: int) -> str:
    """Return what is wrong with a new name of a host that was used since its last wipe."""
    tenant = claimant(text)
    if tenant is not None and box.user not in {None, tenant}:
        return f"S12: {HOSTS[host]} is claimed unwiped: {box.user} used it last"
    if text.startswith(POOL) and box.user is not None:
        return f"S12: {HOSTS[host]} goes into the pool unwiped: {box.user} used it last"
    return ""
