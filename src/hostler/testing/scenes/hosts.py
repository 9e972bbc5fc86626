"""Hostscene: hosts and the machines on them as plain values, for tables of what becomes of them."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta

from hostler.domain.ids import AccountName, Epoch, HostId, MachineId, PartId, TurnId, machine_id
from hostler.domain.model.calls import Shows
from hostler.domain.model.fleet import FleetRow
from hostler.domain.model.host import HOST, Free, Host, tenancy
from hostler.domain.model.inventory import Sighting, View
from hostler.domain.model.machine import Asked, Fate, Known, Machine, Place
from hostler.domain.model.phases import Phase
from hostler.domain.model.provider import Traits
from hostler.domain.model.resource import Condition, Mark, Part
from hostler.domain.model.snapshot import HostsSeen, Seen
from hostler.testing.fakes.planner import SERVER

from .builders import BEGIN, FLEET, HOME, OFFER, WEB, ZONE

MAIN = AccountName("main")
MINE, HIS = machine_id(1), machine_id(2)
BOX = HostId("host-1")
SETTLE = timedelta(seconds=60)
TRAITS = Traits(
    main=SERVER, kinds=("server", "host"), rests=True, created=False, hosts="host", settle=SETTLE
)
"""What machines that are tenancies of hosts are like."""


def box(
    stage: str = "pool",
    condition: Condition = Condition.UP,
    host: HostId = BOX,
    **notes: str,
) -> Part:
    """Return a host as a look shows it; its pool is known unless `notes` say otherwise."""
    told = {"stage": stage, "pool": "pool-", "type": OFFER.type, **notes}
    return Part(
        id=PartId(host),
        slot=HOST,
        zone=ZONE,
        status=str(condition),
        condition=condition,
        name=f"{stage} {host}",
        price=0.2,
        notes=tuple((key, value) for key, value in told.items() if value),
    )


def tenant(
    stage: str = "claimed",
    condition: Condition = Condition.UP,
    machine: MachineId = MINE,
    *,
    marked: bool = True,
    **notes: str,
) -> Part:
    """Return a machine's tenancy of the host."""
    mark = Mark(installation=HOME, fleet=WEB, machine=machine, attempt=0)
    part = box(stage, condition, BOX, holder=machine, **notes)
    return replace(part, id=tenancy(BOX, machine), slot=SERVER, mark=mark if marked else None)


def record(**fields: object) -> Host:
    """Return the record of the host."""
    return replace(Host(id=BOX, account=MAIN, zone=ZONE, pool="pool-", since=BEGIN), **fields)


def on_host(phase: Phase = Phase.READY, machine: MachineId = MINE, **fields: object) -> Machine:
    """Return a machine that is bound to its tenancy of the host."""
    mine = tenancy(BOX, machine)
    known = Known(id=mine, zone=ZONE, since=BEGIN)
    base = Machine(
        id=machine,
        fleet=WEB,
        serial=1,
        created=BEGIN,
        since=BEGIN,
        phase=phase,
        offer=OFFER,
        version=1,
        host=BOX,
        places=(Place(slot=SERVER, bound=mine, known=(known,)),),
        was_ready=BEGIN,
    )
    return replace(base, **fields)


def call(
    kind: str,
    fate: Fate = Fate.OPEN,
    at: datetime = BEGIN,
    *,
    aim: str = "",
    shows: Shows = Shows.MARK,
) -> Asked:
    """Return a call on a host as a record keeps it; a wipe by its kind."""
    shows = Shows.WIPE if kind.endswith("reinstall") else shows
    asked = Asked(kind=kind, slot=HOST, attempt=0, at=at, epoch=Epoch(1), shows=shows, aim=aim)
    return replace(asked, fate=fate, closed=None if fate is Fate.OPEN else at)


def view(parts: Iterable[Part], at: datetime = BEGIN) -> View:
    """Return what is known after one whole look that showed these."""
    found = tuple(parts)
    marked = dict[MachineId, tuple[PartId, ...]]()
    for part in found:
        if part.mark is not None:
            marked[part.mark.machine] = (*marked.get(part.mark.machine, ()), part.id)
    return View(
        sightings={part.id: Sighting(part, at) for part in found},
        marked=marked,
        whole={(ZONE, kind): at for kind in TRAITS.kinds},
    )


def hosts_seen(  # noqa: PLR0913 - everything that a turn of the hosts may know, by name
    host: Host,
    part: Part | None,
    *,
    now: datetime = BEGIN,
    ties: Mapping[HostId, MachineId] | None = None,
    living: Iterable[Machine] = (),
    past: Iterable[Machine] = (),
    looked: datetime | None = None,
) -> HostsSeen:
    """Return what a turn of the hosts sees: one record, and what the newest look shows."""
    shown = view(() if part is None else (part,), looked or now)
    return HostsSeen(
        turn=TurnId("t"),
        now=now,
        account=MAIN,
        hosts={host.id: host},
        ties=ties or {},
        machines={machine.id: machine for machine in living},
        past={machine.id: machine for machine in past},
        view=shown,
        traits=TRAITS,
        epoch=Epoch(1),
        took=BEGIN,
        ours=(HOME,),
    )


def fleet_seen(  # noqa: PLR0913 - everything that a turn of the fleet may know, by name
    machines: Iterable[Machine],
    parts: Iterable[Part] = (),
    *,
    now: datetime = BEGIN,
    hosts: Iterable[Host] = (),
    ties: Mapping[MachineId, HostId] | None = None,
    free: Iterable[Free] = (),
) -> Seen:
    """Return what a turn of the fleet sees."""
    return Seen(
        turn=TurnId("t"),
        now=now,
        fleet=FLEET,
        row=FleetRow(name=WEB, created=BEGIN),
        machines=tuple(machines),
        view=view(parts, now),
        traits=TRAITS,
        epoch=Epoch(1),
        took=BEGIN,
        steady=BEGIN,
        ours=(HOME,),
        hosts={host.id: host for host in hosts},
        ties=ties or {},
        free=tuple(free),
    )
