"""Mutants of Fleets and Hosts as objects: each must be caught by their simulation."""

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from hostler.lab.kubernetes.faults import ClusterScenario
from hostler.lab.kubernetes.fleets.edits import Edit, Write, elsewhere
from hostler.lab.kubernetes.nodes.scenario import NodesScenario
from hostler.lab.kubernetes.routes import UNHEARD
from hostler.lab.scenario.faults import Disruption
from hostler.simulators.kubernetes.faults import Fault

from .clusterapi import Alone
from .mutant import Mutant
from .server_mutations import always, undone

_MINUTE = 60.0
_EDITS = (
    Edit(at=10.0, write=Write.MAKE, who=0, value=2),
    Edit(at=10.0, write=Write.MAKE, who=1, value=1),
    Edit(at=8 * _MINUTE, write=Write.LOCK, who=3),
    Edit(at=10 * _MINUTE, write=Write.SCALE, who=0, value=1),
    Edit(at=20 * _MINUTE, write=Write.END, who=1),
    Edit(at=40 * _MINUTE, write=Write.MAKE, who=1, value=0),
)
_ALONE = Alone(edits=_EDITS)


def _always(_: Any) -> Any:
    """Take each status for another one than is there."""

    def differs(*_arguments: object) -> bool:
        return True

    return differs


def _asks_nothing(_: Any) -> Any:
    """Ask for no end of a fleet whose object was deleted."""

    def about_end(*_arguments: object) -> None:
        return None

    return about_end


def _leaves_locks(good: Any) -> Any:
    """Leave a lock on a host where nothing is done to its power."""

    def annotations_for(present: Any, operation: Any, now: Any) -> Any:
        return {} if operation is None else good(present, operation, now)

    return annotations_for


def _always_something(_: Any) -> Any:
    """Take a fleet for one that still holds something."""

    async def holds_nothing(*_arguments: object) -> bool:
        return False

    return holds_nothing


def _nothing_left(_: Any) -> Any:
    """Let each deleted Host go at once."""

    def left(*_arguments: object) -> str:
        return ""

    return left


def _none_bereft(_: Any) -> Any:
    """Run a provider though hosts of its records lack."""

    def bereft(*_arguments: object) -> tuple[str, ...]:
        return ()

    return bereft


def _none_older(good: Any) -> Any:
    """Leave a host out that became wrong."""

    def entry(self: Any, one: Any, listing: Any, older: Any) -> Any:
        del older
        return good(self, one, listing, None)

    return entry


def _runs_accounts_alone(good: Any) -> Any:
    """Look for hosts on record of those accounts only that are in force."""

    async def known_hosts(self: Any, accounts: Any, config: Any) -> Any:
        del accounts
        return await good(self, {account.name for account in config.accounts}, config)

    return known_hosts


def _one_for_all(_: Any) -> Any:
    """Call what is in any namespace as if it were in the home."""

    def name(self: Any, namespace: str, name: str) -> str:
        del self, namespace
        return name

    return name


def _at_home(good: Any) -> Any:
    """Look for the provider of each fleet in the home namespace."""

    def provider_of(self: Any, one: Any, kinds: Any) -> str:
        return good(self, one, kinds).rpartition("_")[2]

    return provider_of


def _within_bounds(_: Any) -> Any:
    """Let no Fleet stay in force for whose machines there are too few hosts by now."""

    def is_right(self: Any, place: Any, table: Any) -> bool:
        reading, config = self._alone(place, table)
        return not reading.faults.found and config is not None

    return is_right


def _never_lifts(good: Any) -> Any:
    """Lift no hold that an object asked for."""

    def about_hold(one: Any, aim: Any, known: Any, around: Any) -> Any:
        return None if aim is None else good(one, aim, known, around)

    return about_hold


def _forgets_nodes(good: Any) -> Any:
    """Forget what a fleet that has left said of its Nodes."""

    def read(reading: Any, row: Any, accounts: Any) -> Any:
        found = good(reading, row, accounts)
        reading.nodes.clear()
        return found

    return read


def _is_never_behind(_: Any) -> Any:
    """Take over with what was seen last."""

    async def catch_up(self: Any) -> None:
        del self

    return catch_up


_FULL = (
    Edit(at=10.0, write=Write.MAKE, who=0, value=4),
    Edit(at=10.0, write=Write.MAKE, who=1, value=0),
)
_CRASHES = tuple(
    Disruption(at=at * _MINUTE, fault="crash", length=5.0, skip=-1) for at in (15.0, 45.0)
)
_HOST_DELETED = Alone(
    edits=_FULL,
    lifecycle=(
        Edit(at=12 * _MINUTE, write=Write.DELETE_HOST, who=1, value=2),
        Edit(at=30 * _MINUTE, write=Write.MAKE_HOST, who=1),
    ),
)
_HOST_SLIPS = Alone(
    edits=(*_FULL, Edit(at=20 * _MINUTE, write=Write.CHANGE, who=0, value=3)),
    lifecycle=(
        Edit(at=12 * _MINUTE, write=Write.SPOIL_HOST, who=1, value=1),
        Edit(at=40 * _MINUTE, write=Write.MEND_HOST, who=1),
    ),
)
_HOST_SLIPS_AND_CRASHES = replace(_HOST_SLIPS, disruptions=_CRASHES)
_LOGIN_DELETED = Alone(
    edits=_FULL,
    lifecycle=(
        Edit(at=12 * _MINUTE, write=Write.TAKE_LOGIN),
        Edit(at=20 * _MINUTE, write=Write.DELETE_PROVIDER),
        Edit(at=25 * _MINUTE, write=Write.DELETE_HOST, who=0, value=0),
        Edit(at=40 * _MINUTE, write=Write.PUT_LOGIN),
    ),
    disruptions=_CRASHES,
)
_PAIR = (
    Edit(at=10.0, write=Write.MAKE, who=0, value=2),
    Edit(at=10.0, write=Write.MAKE, who=1, value=0),
)
_TWO_NAMESPACES = Alone(edits=elsewhere(_PAIR, _PAIR), apart=2)
_HOST_STAYS_ON = Alone(
    edits=(_FULL[1], Edit(at=5 * _MINUTE, write=Write.POWER, who=1, value=1)),
    lifecycle=(Edit(at=21 * _MINUTE, write=Write.DELETE_HOST, who=1, value=2),),
    disruptions=(Disruption(at=20 * _MINUTE, fault="endpoint_away", who=1, length=10 * _MINUTE),),
)
_ROOM_SHRINKS = Alone(
    edits=(
        Edit(at=10.0, write=Write.MAKE, who=1, value=0),
        Edit(at=_MINUTE, write=Write.POWER, who=1, value=2),
        Edit(at=3 * _MINUTE, write=Write.MAKE, who=0, value=4),
        Edit(at=20 * _MINUTE, write=Write.CHANGE, who=1, value=1),
    ),
    lifecycle=(Edit(at=12 * _MINUTE, write=Write.DELETE_HOST, who=1),),
)
_NOTHING_HELD = Alone(
    edits=_FULL,
    lifecycle=(Edit(at=12 * _MINUTE, write=Write.DELETE_HOST, who=1),),
    api={Fault.WEBHOOK_REFUSES: 1.0},
)

_SHARED = Alone(edits=_EDITS, engines=2)
_SCALED_UNHEARD = Alone(
    edits=(
        Edit(at=10.0, write=Write.MAKE, who=0, value=1),
        Edit(at=10.0, write=Write.MAKE, who=1, value=0),
        Edit(at=20 * _MINUTE + 5, write=Write.SCALE, who=0, value=3),
    ),
    disruptions=(
        Disruption(at=20 * _MINUTE, fault=UNHEARD, who=1),
        Disruption(at=20 * _MINUTE + 15, fault="crash", who=0, skip=-1, length=15 * _MINUTE),
    ),
    engines=2,
)

_FLEETS = "frontends.kubernetes.fleets"
_CANDIDATES = "frontends.kubernetes.objects.candidates:Candidates"
_ENTRIES = "frontends.kubernetes.objects.host_entries:Entries"

MUTANTS: Mapping[str, Mutant[ClusterScenario]] = {
    "status-written-anew": Mutant(
        summary="each status is written again and again, though it says the same",
        puts=((f"{_FLEETS}.writing:differs", _always),),
        scenario=_ALONE,
        caught=("fight",),
    ),
    "finalizer-stays": Mutant(
        summary="our finalizer is never taken off a Fleet that was deleted",
        puts=((f"{_FLEETS}.writing:Writer.release", undone),),
        scenario=_ALONE,
        caught=("leaves",),
    ),
    "fleet-end-not-asked": Mutant(
        summary="the machines of a Fleet that was deleted to end are kept for ever",
        puts=((f"{_FLEETS}.requests:about_end", _asks_nothing),),
        scenario=_ALONE,
        caught=("leaves", "L1"),
    ),
    "lock-stays": Mutant(
        summary="the lock that an operation shows on a Host stays when it is over",
        puts=((f"{_FLEETS}.reporting:annotations_for", _leaves_locks),),
        scenario=_ALONE,
        caught=("status",),
    ),
    "empty-fleet-forgotten": Mutant(
        summary="a Fleet that was deleted and holds nothing waits for an engine to note it",
        puts=((f"{_FLEETS}.reporting:Reporter._holds_nothing", _always_something),),
        scenario=_ALONE,
        caught=("leaves",),
    ),
    "host-left-with-its-machine": Mutant(
        summary="a Host that was deleted goes at once, whoever has it",
        puts=((f"{_FLEETS}.reporting:left", _nothing_left),),
        scenario=_HOST_DELETED,
        caught=("kept",),
    ),
    "power-of-a-deleted-host": Mutant(
        summary="a deleted Host goes before its box is switched as it asks for",
        puts=((f"{_FLEETS}.host_ends:_power_left", _nothing_left),),
        scenario=_HOST_STAYS_ON,
        caught=("policy",),
    ),
    "hold-of-a-former-host": Mutant(
        summary="what a deleted Host asked for holds for the one that is made again",
        puts=((f"{_FLEETS}.reporting:about_hold", _never_lifts),),
        scenario=_HOST_DELETED,
        caught=("L1",),
    ),
    "wrong-host-left-out": Mutant(
        summary="a Host that becomes wrong is left out of what is in force, with its machine",
        puts=((f"{_ENTRIES}._entry", _none_older), (f"{_CANDIDATES}._bereft", _none_bereft)),
        scenario=_HOST_SLIPS,
        caught=("kept",),
    ),
    "wrong-host-left-out-at-a-start": Mutant(
        summary="an engine that begins runs a provider of which a host on record is wrong",
        puts=((f"{_CANDIDATES}._bereft", _none_bereft),),
        scenario=_HOST_SLIPS_AND_CRASHES,
        caught=("kept",),
    ),
    "host-of-a-provider-not-in-force": Mutant(
        summary="a deleted Host goes with its machine while its Provider is not in force",
        puts=((f"{_FLEETS}.reporting:Reporter._known_hosts", _runs_accounts_alone),),
        scenario=_LOGIN_DELETED,
        caught=("kept",),
    ),
    "provider-left-with-machines": Mutant(
        summary="a deleted Provider goes while fleets name it, and have machines of it",
        puts=((f"{_FLEETS}.reporting:provider_left", _nothing_left),),
        scenario=_LOGIN_DELETED,
        caught=("kept",),
    ),
    "one-name-in-all-namespaces": Mutant(
        summary="objects of one name in two namespaces are one to the engine",
        puts=(("frontends.kubernetes.namespaces:Namespaces.name", _one_for_all),),
        scenario=_TWO_NAMESPACES,
        caught=("L1", "status", "apart"),
    ),
    "provider-of-the-home": Mutant(
        summary="a Fleet of another namespace is one of the home's Provider",
        puts=(("frontends.kubernetes.objects.reach:Reach.provider_of", _at_home),),
        scenario=_TWO_NAMESPACES,
        caught=("L1", "status", "apart"),
    ),
    "fleet-too-large-left-out": Mutant(
        summary="a Fleet that asks for more than the Hosts that are left is not in force",
        puts=(("frontends.kubernetes.objects.assembly:Assembler._is_right", _within_bounds),),
        scenario=_ROOM_SHRINKS,
        caught=("kept",),
    ),
    "nodes-of-a-fleet-that-left": Mutant(
        summary="the Nodes of a Fleet that was deleted to end are worked at no longer",
        puts=(("config.removed:_read", _forgets_nodes),),
        scenario=Alone(edits=_EDITS, nodes=NodesScenario(waits=True)),
        caught=("removed", "drain", "L1"),
    ),
    "takes-over-unread": Mutant(
        summary="who takes over goes by the Fleets that it saw last, and ends what was made since",
        puts=(("frontends.kubernetes.leading:Successor._catch_up", _is_never_behind),),
        scenario=_SCALED_UNHEARD,
        caught=("current",),
    ),
    "two-processes-elected": Mutant(
        summary="of two processes that follow Fleets each takes the cluster's Lease from the other",
        puts=(("kubernetes.election:Elector._may_take", always),),
        scenario=_SHARED,
        caught=("alone",),
    ),
    "in-force-before-it-is-held": Mutant(
        summary="a Host is in force before anything keeps its object from going with its machine",
        puts=((f"{_FLEETS}.finalized:is_held", always),),
        scenario=_NOTHING_HELD,
        caught=("kept",),
    ),
}
"""Every one of them, by name."""
