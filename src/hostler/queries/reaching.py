"""Reaching: how a person logs in to a machine, by what one observation shows and the file says."""

from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from hostler.domain.errors import RequestRefused
from hostler.domain.model.fleet import Fleet, ProbeKind
from hostler.domain.model.machine import Machine
from hostler.domain.model.phases import sentence
from hostler.domain.observation.certainty import resources_of

from .providers import Providers, require_observed

_KNOWN = """/bin/sh -c 'test "$1" = "$2" && echo "$3 $4 $5"; true' sh"""
"""What ssh runs to learn which keys a host may have: the shown one, if it is the pinned one."""


class Reach(Struct, frozen=True, kw_only=True):
    """Where a machine answers by SSH, who logs in, and with which keys (files; none: ssh's own).

    `internal` is its address in a private network, empty without one; `fingerprint` is of the host
    key that it must show, empty where no setting names it.
    """

    machine: Machine
    address: str
    internal: str
    port: int
    user: str
    keys: tuple[Path, ...]
    fingerprint: str

    def command(self, *, internal: bool, remote: tuple[str, ...]) -> tuple[str, ...]:
        """Return the command line of ssh that logs in, or runs `remote` there.

        It shows the pinned host key, or ssh goes no further. One that is not pinned is remembered
        for this machine, and not for an address, which another one may get.
        Raises RequestRefused where it has no private address, and that is asked for.
        """
        if internal and not self.internal:
            raise RequestRefused(f"{self.machine.id} has no address in a private network")
        address = self.internal if internal else self.address
        keys = (word for key in self.keys for word in ("-i", str(key)))
        alias = ("-o", f"HostKeyAlias={self.machine.id}", *self._pin())
        place = ("-p", str(self.port), "-l", self.user, "--", address)
        return ("ssh", *keys, *alias, *place, *remote)

    def _pin(self) -> Iterator[str]:
        """Yield the options by which ssh takes this host key and no other (OpenSSH from 8.5 on)."""
        if self.fingerprint:
            yield from ("-o", "StrictHostKeyChecking=yes")
            yield from (
                "-o",
                "UserKnownHostsFile=/dev/null",
                "-o",
                "GlobalKnownHostsFile=/dev/null",
            )
            yield from ("-o", f"KnownHostsCommand={_KNOWN} %f {self.fingerprint} %H %t %K")


async def reach(providers: Providers, fleet: Fleet, machine: Machine) -> Reach:
    """Observe once, and return how to log in; RequestRefused where it has no address now."""
    snapshot = await providers.snapshot(fleet)
    seen = next((one for one in snapshot.machines if one.id == machine.id), machine)
    provider = providers.account(fleet).provider
    found = provider.connection(seen, resources_of(seen, snapshot))
    if found is None:
        require_observed(snapshot.inventory)
        why = f"it is {seen.phase} ({sentence(seen.reason)})"
        raise RequestRefused(f"{seen.id} has no address now: {why}")
    probe = fleet.probe
    return Reach(
        machine=seen,
        address=found.address,
        internal=found.internal if found.internal != found.address else "",
        port=probe.port if probe.kind is ProbeKind.SSH and probe.port else found.port,
        user=probe.user or found.user,
        keys=(Path(probe.key),) if probe.key else found.keys,
        fingerprint=found.fingerprint,
    )
