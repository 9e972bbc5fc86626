"""Tables, letter by letter: what is rendered from values alone."""

import io
from datetime import timedelta
from typing import Any

import pytest
from cli_kit import FLEET, NOW, TURN, WEB, made
from msgspec.structs import replace
from rich.console import Console, RenderableType

from hostler.domain.hosts.allocation import CLAIMED_TWICE
from hostler.domain.ids import AccountName, HostId, ResourceId, Zone, machine_id
from hostler.domain.model.commands import Event
from hostler.domain.model.fleet import FleetRow
from hostler.domain.model.host import Host
from hostler.domain.model.machine import Doubt, Offer
from hostler.domain.model.phases import Phase, Reason
from hostler.domain.model.resource import OrphanClass
from hostler.domain.model.snapshot import Orphan
from hostler.domain.reporting.history import Line, tell
from hostler.frontends.cli.commands.top import fitted, frame
from hostler.frontends.cli.console.format import clean, parse_time
from hostler.frontends.cli.render import tables
from hostler.queries.fleets import FleetStatus
from hostler.queries.machines import next_step
from hostler.queries.orphans import OrphanReport
from hostler.queries.wording import euros, rounded, until


def drawn(rendered: RenderableType, width: int = 110, height: int = 50) -> list[str]:
    """Return the lines of a table without colours, rules and indents."""
    console = Console(
        file=io.StringIO(), width=width, height=height, color_system=None, markup=False
    )
    console.print(rendered)
    file = console.file
    assert isinstance(file, io.StringIO)
    return [line.strip() for line in file.getvalue().splitlines() if line.strip(" ─")]


def test_a_fleet_is_listed_like_this() -> None:
    machines = (
        made(
            1,
            address="192.0.2.1",
            observed="running",
            price=2.0,
            billed_from=NOW - timedelta(hours=1),
        ),
        made(2, Phase.STARTING, since=NOW - timedelta(seconds=40), observed="starting"),
    )
    row = FleetRow(name=WEB, created=NOW, condition="waiting for stock")
    seen = FleetStatus(fleet=FLEET, row=row, machines=machines, at=NOW, runs=True)
    assert drawn(tables.status([seen])) == [
        "web  1 of 2 ready, 1 starting  €2.00 so far",
        "waiting for stock",
        "machine       phase     since  observed  offer         address    cost   next",
        "m-baaaaaaaaa  ready     5 min  running   small in z-1  192.0.2.1  €2.00",
        "m-caaaaaaaaa  starting  40 s   starting  small in z-1             €0     times out in 9 min",  # noqa: E501 - a line of the table
    ]


def test_ids_and_addresses_can_be_copied_from_a_narrow_screen() -> None:
    """They stay whole on their line; the offer and the cost are left out for what comes next."""
    offer = Offer("DEV1-S", Zone("fr-par-1"))
    doubt = Doubt(what="vanished", since=NOW)
    machine = made(1, offer=offer, address="127.64.0.154", observed="running", doubt=doubt)
    fleet = replace(FLEET, offers=(offer,))
    seen = FleetStatus(fleet=fleet, row=None, machines=(machine,), at=NOW, runs=True)
    text = "\n".join(drawn(tables.status([seen]), width=80))
    for whole in ("m-baaaaaaaaa", "127.64.0.154", "running", "to be confirmed:"):
        assert whole in text
    assert "DEV1-S" not in text
    assert "DEV1-S in fr-par-1" in "\n".join(drawn(tables.status([seen]), width=120))


@pytest.mark.parametrize(
    ("host", "cell"),
    [("192.0.2.10", "192.0.2.10"), ("8f14e45f-ceea-467f-a8b2-1c2d3e4f5a6b", "8f14e45f")],
)
def test_a_host_is_shown_so_that_no_other_looks_like_it(host: str, cell: str) -> None:
    """Neighbours differ in the last figure of an address, and at once in an id at random."""
    machine = replace(made(1), host=HostId(host))
    hosts = {HostId(host): Host(id=HostId(host), account=AccountName("lab"), zone=Zone("static"))}
    seen = FleetStatus(fleet=FLEET, row=None, machines=(machine,), at=NOW, runs=True, hosts=hosts)
    assert drawn(tables.status([seen]))[-1].split()[1] == cell


def test_orphans_are_listed_like_this_the_most_expensive_first() -> None:
    def one(name: str, price: float, blocked: str) -> Orphan:
        return Orphan(
            resource=ResourceId(name),
            kind="server",
            zone=Zone("z-1"),
            fleet=WEB,
            cls=OrphanClass.UNRECORDED,
            first=NOW - timedelta(hours=3),
            last=NOW,
            price=price,
            blocked=blocked,
        )

    report = OrphanReport(orphans=(one("a", 0.1, "too young"), one("b", 1.0, "")))
    lines = drawn(tables.orphans(report, NOW, "as of now", whole=True))
    assert lines == [
        "resource  kind    zone  fleet  class       age  owner  €/h      so far   blocked by",
        "b         server  z-1   web    unrecorded  3 h         €1.00    €3.00    nothing: reclaimed next",  # noqa: E501 - a line of the table
        "a         server  z-1   web    unrecorded  3 h         €0.1000  €0.3000  too young",
        "2 orphans: €1.10 an hour, €3.30 so far",
        "as of now",
    ]


def test_names_from_outside_cannot_draw_on_the_terminal() -> None:
    seen = FleetStatus(
        fleet=FLEET,
        row=None,
        machines=(made(1, observed="\x1b[31mred\x07[bold]x[/bold]"),),
        at=NOW,
        runs=True,
    )
    text = "\n".join(drawn(tables.status([seen])))
    assert "\x1b" not in text
    assert "\x07" not in text
    assert "[bold]x[/bold]" in text
    assert clean("Name:\tmacOS\nNo:\t26\x07") == "Name:   macOS\nNo:     26·"


def paused(pause: timedelta) -> dict[str, Any]:
    return {"retry_since": NOW, "retry_at": NOW + pause}


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"phase": Phase.READY}, ""),
        ({"phase": Phase.STARTING}, "times out in 5 min"),
        ({"phase": Phase.STOPPING}, "times out in 5 min"),
        ({"phase": Phase.STARTING, **paused(timedelta(seconds=30))}, "tried again in 30 s"),
        ({"doubt": Doubt(what="vanished", since=NOW)}, "to be confirmed: vanished"),
        ({"phase": Phase.STARTING, "since": NOW - timedelta(hours=1)}, "times out now"),
        ({"phase": Phase.STARTING, **paused(timedelta(hours=1))}, "times out in 5 min"),
        (
            {
                "phase": Phase.STARTING,
                **paused(timedelta(seconds=30)),
                "retry_since": NOW + timedelta(seconds=1),
            },
            "times out in 5 min",
        ),
        ({"phase": Phase.FAILED}, "to be deleted"),
    ],
)
def test_the_next_step_follows_from_the_record(more: dict[str, Any], message: str) -> None:
    assert next_step(made(1, **{"phase": Phase.READY, **more}), FLEET, NOW) == message


EXPECTED = {
    ("alarm", "host_taken", "its host is called 'x'"): "alarm: its host is called 'x'",
    ("alarm", "stop_overdue", ""): "alarm: it could not be removed within its stop bound",
    ("host_taken", "host_taken", "mac-1"): (
        "its host has a name that is not ours: it is left as it is, and reported (mac-1)"
    ),
    ("made", "made", "small in z"): (
        "recorded as pending: the fleet's size asks for one more machine (small in z)"
    ),
    ("moved", "up", "starting>ready: it is up, and the fleet asks for no probe"): (
        "starting → ready: it is up, and the fleet asks for no probe"
    ),
    ("moved", "stopped", "ready>failed: seen off"): (
        "ready → failed: its server stopped after it had been switched on (seen off)"
    ),
    ("asked", "server.create", "server.create for server"): (
        "about to ask the provider: server.create for server"
    ),
    ("unknown", "server.create", "reset"): (
        "nobody can say whether server.create had its effect: reset"
    ),
    ("refused", "server.poweron busy", "423"): "the provider refused server.poweron busy: 423",
    ("barred", "G7", "no room"): "our own gate refused (G7): no room",
    ("resource_removed", "ip.delete", "ip.delete 7"): "removed: ip.delete 7",
    ("condition", "waiting", ""): "the fleet: waiting",
    ("request", "scale by anna", "web 3"): "asked: scale by anna (web 3)",
    ("host_moved", "wiped", "allocated>wiping: all_absent"): (
        "the host: allocated → wiping, to be wiped: its machine: "
        "complete observations show nothing of it any longer"
    ),
    ("host_moved", "", "dirty>dirty: "): "the host: is dirty",
    ("rollback_started", "refused", "3 parts"): "rollback started: refused: 3 parts",
}


@pytest.mark.parametrize(("output", "message"), EXPECTED.items())
def test_each_event_is_a_sentence(output: tuple[str, str, str], message: str) -> None:
    kind, reason, detail = output
    event = Event(
        kind=kind,
        at=NOW,
        fleet=WEB,
        cycle=TURN,
        machine=machine_id(1),
        reason=reason,
        detail=detail,
    )
    assert tell(event).text == message


@pytest.mark.parametrize(
    ("seconds", "message"),
    [(0, "0 s"), (-5, "0 s"), (119, "119 s"), (120, "2 min"), (7200, "2 h"), (172800, "2 d")],
)
def test_durations_are_shown_in_their_largest_unit(seconds: int, message: str) -> None:
    assert rounded(timedelta(seconds=seconds)) == message


def test_sums_are_never_rounded_to_nothing() -> None:
    assert [euros(x) for x in (0, 0.0004, 0.5, 12.345)] == ["€0", "€0.0004", "€0.5000", "€12.35"]


def test_times_are_read_as_people_write_them() -> None:
    assert parse_time("10m", NOW) == NOW - timedelta(minutes=10)
    assert parse_time("2026-03-01T11:00:00Z", NOW) == NOW - timedelta(hours=1)
    assert parse_time("2026-03-01T12:00:00+01:00", NOW) == NOW - timedelta(hours=1)
    assert until(NOW + timedelta(seconds=5), NOW) == "in 5 s"
    assert until(NOW - timedelta(seconds=5), NOW) == "now"


def test_a_machine_whose_host_somebody_else_may_have_is_shown_in_the_status() -> None:
    twice = made(1).with_fact(CLAIMED_TWICE, NOW)
    seen = FleetStatus(fleet=FLEET, row=None, machines=(twice, made(2)), at=NOW, runs=True)
    lines = drawn(tables.status([seen]), 180)
    assert [
        line.endswith("may have claimed its host too") for line in lines if line.startswith("m-")
    ] == [
        True,
        False,
    ]


def test_doubt_stands_below_the_count_of_ready_machines_once() -> None:
    doubt = Doubt(what=Reason.VANISHED, since=NOW)
    lost = made(1).with_health(doubt=doubt)
    row = FleetRow(name=WEB, created=NOW)
    words = f"1 not seen since {NOW:%H:%M:%S} UTC"
    status = FleetStatus(fleet=FLEET, row=row, machines=(lost, made(2)), at=NOW, runs=True)
    assert status.in_doubt == 1
    assert f"{words}: to be confirmed" in drawn(tables.status([status]), 180)
    wave = replace(row, condition=f"{words}: each is lost once it was asked for by itself")
    screen = "\n".join(drawn(tables.status([replace(status, row=wave)]), 180))
    assert screen.count("not seen since") == 1


def crowded() -> FleetStatus:
    """A fleet as a person sees it on a bad day: long addresses, reasons and remarks."""
    offer = Offer("DEV1-S", Zone("fr-par-1"))
    error = "readiness probe (tcp) at 2001:db8:1234:5678:9abc:def0:1234:5678: Connection refused"
    machines = (
        made(1, offer=offer, address="127.64.0.154", observed="running"),
        made(2, Phase.STARTING, offer=offer, address="192.0.2.200", error=error),
    )
    row = FleetRow(name=WEB, created=NOW, condition="the bound on creations in an hour is reached")
    fleet = replace(FLEET, offers=(offer,))
    return FleetStatus(fleet=fleet, row=row, machines=machines, at=NOW)


def lines_of(status: FleetStatus) -> list[Line]:
    """Return what happened to its machines."""
    return [
        tell(
            Event(
                kind="probe_failed",
                at=NOW - timedelta(minutes=3),
                fleet=WEB,
                cycle=TURN,
                machine=machine.id,
                reason="tcp",
                detail="Connection refused",
            )
        )
        for machine in status.machines
    ]


@pytest.mark.parametrize("width", [40, 60, 79, 80, 99, 100, 120])
def test_a_screen_of_any_width_keeps_ids_and_sentences_readable(width: int) -> None:
    """Ids and addresses stand whole on a line, and no line of a sentence is a shred."""
    status = crowded()
    screen = drawn(frame([status], lines_of(status)), width=width)
    for machine in status.machines:
        assert sum(machine.id in line for line in screen) == 2, "in the table and in the events"
        assert any(machine.address in line for line in screen)
    assert all(len(line) <= width for line in screen)
    text = " ".join(" ".join(screen).split())
    assert "Connection" in text
    assert sum(len(line) < 6 for line in screen) <= 1, screen


def test_the_narrowest_screen_looks_like_this() -> None:
    status = crowded()
    assert drawn(frame([status], lines_of(status)[:1]), width=40) == [
        "web  1 of 2 ready, 1 starting  €0 so far",
        "the bound on creations in an hour is",
        "reached",
        "no engine is running: start one with",
        "hostler run",
        "m-baaaaaaaaa  ready  5 min",
        "127.64.0.154",
        "m-caaaaaaaaa  starting  5 min",
        "192.0.2.200",
        "times out in 5 min; readiness probe",
        "(tcp) at",
        "2001:db8:1234:5678:9abc:def0:1234:5678",
        ": Connection refused",
        "latest events",
        "11:57:00  m-baaaaaaaaa",
        "not ready yet: its readiness probe",
        "(tcp) failed: Connection refused",
    ]


@pytest.mark.parametrize(
    ("height", "events"), [(24, 2), (22, 2), (21, 1), (19, 1), (18, 0), (9, 0)]
)
def test_what_is_too_tall_for_the_screen_is_cut_at_the_oldest_events(
    height: int, events: int
) -> None:
    """The latest event and what is said below the events are what a person watches for."""
    status = crowded()
    lines = lines_of(status)
    screen = drawn(fitted([status], lines, ("the file was changed",)), width=40, height=height)
    assert screen[-1] == "the file was changed"
    names = [line.split()[1] for line in screen if line.startswith("11:57:00")]
    assert names == [line.machine for line in lines[len(lines) - events :]]
    assert ("latest events" in screen) is bool(events)
