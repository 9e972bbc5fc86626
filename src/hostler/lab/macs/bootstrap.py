"""Bootstrap checks: whether what is ready is prepared and wired, and whose host keys are believed.

bootstrap  nothing gets ready on a disk on which its fleet's commands did not run to their end.
rollout    a changed list reaches one machine in use of each fleet, until it worked somewhere or
           that one's tries are used up: then one more.
host-key   a host's key is believed anew only after a wipe that its own installation asked for.
network    nothing gets ready outside its fleet's private networks, nor without a VLAN; and nobody
           gives a host to others that is still in them.
What a person wiped while it was in use is told by nothing but its host key, and hostler does not
look at that of a machine at work: its disk is not held against it.
"""

from collections import Counter
from dataclasses import dataclass, field

from hostler.domain.ids import FleetName, HostId, MachineId
from hostler.domain.model.fleet import Fleet
from hostler.domain.model.host import Host
from hostler.domain.model.machine import Machine
from hostler.domain.model.phases import Phase
from hostler.lab.checks.shadow_store import Pinned, ShadowStore
from hostler.simulators.scaleway.macs.reach import fingerprint
from hostler.testing.invariants import Found, Violation

from .demands import Demands
from .ground_truth import Change, GroundTruth
from .ssh import Login, Logins, Ran

_FRESH = frozenset({Phase.STARTING, Phase.PENDING})
_TRIES = 5
"""So often a changed list is tried on one machine, before one more tells whose fault it is."""
_AWAITED = 3600.0
"""So long, in seconds, a wipe that was asked for may be waited for."""


@dataclass(slots=True)
class BootstrapCheck:
    """All that concerns logins, disks and networks of a run."""

    truth: GroundTruth
    demands: Demands
    logins: Logins
    wipes: dict[tuple[str, HostId], float] = field(default_factory=dict[tuple[str, HostId], float])
    presented: dict[tuple[str, HostId, str], float] = field(
        default_factory=dict[tuple[str, HostId, str], float]
    )
    lists: dict[str, set[tuple[str, ...]]] = field(default_factory=dict[str, set[tuple[str, ...]]])
    by_hand: dict[HostId, float] = field(default_factory=dict[HostId, float])
    in_use: dict[tuple[str, FleetName, tuple[str, ...]], Counter[MachineId]] = field(
        default_factory=dict[tuple[str, FleetName, tuple[str, ...]], Counter[MachineId]]
    )

    @property
    def now(self) -> float:
        """True time in seconds."""
        return self.truth.world.cloud.now

    # ------------------------------------------------------------ what happens

    def noted(self, change: Change) -> None:
        """Note a wipe, and who asked for it, however late a name came before it.

        What a person wipes while an installation waits for its own wipe is that one, for all it
        can see.
        """
        if change.what != "wiped":
            return
        fact = self.truth.hosts.get(change.host)
        asked = [change.by] if change.by else (fact.asked if fact else [])
        for one in asked:
            if one.act == "reinstall" and self.now - one.begun < _AWAITED:
                self.wipes[one.ours[0], change.host] = self.now
        if change.by is None:
            self.by_hand[change.host] = self.now

    def released(self, change: Change) -> Found:
        """Nobody gives a host away that is still in a private network."""
        mac, fact = self.truth.mac(change.host), self.truth.hosts[change.host]
        if mac is None or change.by is None or change.late or not mac.attachments:
            return ()
        if fact.owner is not None and fact.owner[0] != "parked":
            return ()
        text = f"host {change.host} is free as {fact.name}, and still in {[*mac.attachments]}"
        return (Violation(invariant="network", text=text),)

    # ------------------------------------------------------------ what is recorded

    def saved(self, shadow: ShadowStore, before: Machine | None, machine: Machine) -> Found:
        """Check a machine that gets ready: its disk is prepared, its host is wired."""
        begins = before is not None and before.phase in _FRESH and machine.phase is Phase.READY
        if not begins or machine.host is None or machine.host not in self.truth.hosts:
            return ()
        fleet = shadow.fleets[machine.fleet]
        return self._prepared(shadow, fleet, machine) or self._wired(machine)

    def _prepared(self, shadow: ShadowStore, fleet: Fleet, machine: Machine) -> Found:
        disk = self.logins.disk(machine.host) if machine.host is not None else None
        if not self.demands.commands or disk is None or self._wiped_since(machine):
            return ()
        known = self.lists.setdefault(shadow.own, set())
        known.add(fleet.probe.commands)
        if any(Ran(commands, machine.id) in disk.whole for commands in known):
            return ()
        text = f"{machine.id} is ready on {machine.host}, whose disk its commands never ran on"
        return (Violation(invariant="bootstrap", text=text, machine=machine.id),)

    def _wiped_since(self, machine: Machine) -> bool:
        """Tell whether a person wiped the host since it was this machine's."""
        fact = self.truth.hosts.get(machine.host) if machine.host is not None else None
        if fact is None or machine.host is None:
            return True
        return self.by_hand.get(machine.host, -1.0) >= fact.named

    def shows_a_stranger(self, shadow: ShadowStore, machine: Machine) -> bool:
        """Tell whether somebody stood in between when the key of its host was pinned on first use.

        Nobody can know that then; later the true key is a stranger's, and nothing is sent to it.
        The same is true of a key that came of a wipe which a store forgot when it was put back.
        """
        mac = self.truth.mac(machine.host) if machine.host is not None else None
        if mac is None or machine.host is None or machine.phase is not Phase.READY:
            return False
        known = shadow.pinned.get(machine.host)
        wiped = self.wipes.get((shadow.own, machine.host), 0.0)
        if known is None or (wiped >= known.at and not shadow.has_forgotten(wiped)):
            return False
        return known.host_key.key != fingerprint(mac.disk.seed)

    def _wired(self, machine: Machine) -> Found:
        mac = self.truth.mac(machine.host) if machine.host is not None else None
        if mac is None:
            return ()
        for network in self.demands.networks:
            found = mac.attachments.get(network)
            if found is None or found.status == "error" or found.polls:
                text = f"{machine.id} is ready, and {machine.host} is not in {network}, or no VLAN"
                return (Violation(invariant="network", text=text, machine=machine.id),)
        return ()

    def changed_list(self, shadow: ShadowStore) -> None:
        """Note that the fleet file has another list: what was asked for before may be found too."""
        known = self.lists.setdefault(shadow.own, set())
        known |= {fleet.probe.commands for fleet in shadow.fleets.values()}

    def believed(self, shadow: ShadowStore, host: Host) -> Found:
        """Check the key that an installation believes: another one only after a wipe of its own.

        A key is as old as the login that showed it. It is saved only after the commands, and the
        host may be wiped meanwhile: that wipe opens the pin again, although it was saved later.
        """
        if host.bootstrap.host_key is None:
            return ()
        known = shadow.pinned.get(host.id)
        if known is not None and known.host_key == host.bootstrap.host_key:
            return ()
        at = self.presented.get((shadow.own, host.id, host.bootstrap.host_key.key), self.now)
        shadow.pinned[host.id] = Pinned(host.bootstrap.host_key, at)
        same = known is None or known.host_key.key == host.bootstrap.host_key.key
        if known is None or same or self._wiped_after(known, shadow, host.id):
            return ()
        text = f"host {host.id} showed another key than the pinned one, and is believed"
        return (Violation(invariant="host-key", text=text, machine=host.machine),)

    def _wiped_after(self, known: Pinned, shadow: ShadowStore, host: HostId) -> bool:
        wiped = self.wipes.get((shadow.own, host))
        return wiped is not None and wiped >= known.at

    def tried(self, shadow: ShadowStore, login: Login) -> Found:
        """Note which key is shown; check who is let in with another than that on record.

        What was begun before that key was shown, by a process that paused since, knows none.
        """
        self.presented[shadow.own, login.host, login.presented] = self.now
        known = shadow.pinned.get(login.host)
        if known is None or login.order.fingerprint or not login.entered:
            return ()
        if login.begun < known.at:
            return ()
        if self._wiped_after(known, shadow, login.host):
            return ()
        text = f"any key was taken of host {login.host}, which was pinned and not wiped since"
        return (Violation(invariant="host-key", text=text, machine=login.order.machine),)

    def rolled_out(self, shadow: ShadowStore, login: Login) -> Found:
        """Check that a fleet's list that never worked is tried on one machine in use at a time.

        One whose tries are used up is tried again now and then, beside the one that comes next; a
        host that did not answer was tried, too.
        """
        machine, commands = shadow.machines.get(login.order.machine), login.order.commands
        if machine is None or machine.phase is not Phase.READY or not commands:
            return ()
        if self.logins.worked(commands):
            return ()
        tries = self.in_use.setdefault((shadow.own, machine.fleet, commands), Counter())
        tries[machine.id] += 1
        unmet = self.logins.unmet
        if tries[machine.id] + unmet[machine.id, commands] > _TRIES:
            return ()
        going_on = [
            other
            for other, many in tries.items()
            if other != machine.id
            and many + unmet[other, commands] < _TRIES
            and (known := shadow.machines.get(other)) is not None
            and known.phase is Phase.READY
        ]
        if not going_on:
            return ()
        text = f"{machine.id} is tried with a list that never worked, as {going_on[0]} is"
        return (Violation(invariant="rollout", text=text, machine=machine.id),)

    # ------------------------------------------------------------ at rest

    def rested(self, shadow: ShadowStore, fleet: Fleet) -> Found:
        """Check that each ready machine carries its fleet's list in the end.

        Nothing is sent to one that shows a stranger's key.
        """
        wanted = fleet.probe.commands
        for machine in shadow.living(fleet.name):
            if machine.phase is not Phase.READY or machine.host is None or not wanted:
                continue
            disk = self.logins.disk(machine.host)
            carried = disk is None or any(one.commands == wanted for one in disk.whole)
            if carried or self._wiped_since(machine):
                continue
            if not self.shows_a_stranger(shadow, machine):
                text = f"{machine.id} does not carry its fleet's list of commands"
                return (Violation(invariant="L1", text=text, machine=machine.id),)
        return ()
