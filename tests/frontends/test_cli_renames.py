"""`adopt --from-fleet`: a fleet of the file gets the machines of one that left it, or a refusal."""

import pytest
from cli_kit import FILE, FLEET, NOW, InMemory, cli, fence, fill, made, run
from msgspec.structs import replace

from hostler.domain.errors import RequestRefused
from hostler.domain.ids import AccountName, FleetName
from hostler.domain.model.fleet import Fleet, FleetRow
from hostler.domain.model.machine import Machine
from hostler.domain.model.snapshot import Request, RequestKind
from hostler.requests.recording import Author
from hostler.requests.renames import Source, adopt_fleet

Out = pytest.CaptureFixture[str]


def requests(services: InMemory) -> tuple[Request, ...]:
    return run(services.store_.requests())


async def save(services: InMemory, row: FleetRow, *machines: Machine) -> None:
    store = services.store_
    await store.save_fleet(row, machines, (), await fence(store))


BUILDERS = replace(FLEET, name=FleetName("builders"))
GONE = replace(FLEET, removed=True)
RENAME = ("adopt", str(FILE), "--fleet", "builders", "--from-fleet", "web", "--no-wait")


def renamed(*fleets: Fleet, row: FleetRow | None = None) -> InMemory:
    services = InMemory()
    run(fill(services.store_, made(1), made(2)))
    services.fleets = fleets or (BUILDERS, GONE)
    if row is not None:
        run(services.store_.add_fleet(row))
    return services


def test_adopt_from_a_fleet_that_left_the_file_records_whose_machines_are_meant(
    capsys: Out,
) -> None:
    services = renamed()
    output = cli(services, capsys, *RENAME)
    assert (output.code, "adopt web as builders: recorded" in output.out) == (0, True)
    (request,) = requests(services)
    assert (request.kind, request.fleet, request.source) == (
        RequestKind.ADOPT_FLEET,
        "builders",
        "web",
    )


def test_adopt_from_a_fleet_as_json_has_the_source(capsys: Out) -> None:
    request = cli(renamed(), capsys, *RENAME, "--json").json["request"]
    assert (request["kind"], request["fleet"], request["source"]) == (
        "adopt_fleet",
        "builders",
        "web",
    )


def test_a_fleet_that_has_machines_already_is_warned_that_some_will_be_too_many(
    capsys: Out,
) -> None:
    services = renamed()
    other = replace(made(7), fleet=BUILDERS.name)
    row = run(services.store_.add_fleet(FleetRow(name=BUILDERS.name, created=NOW)))
    run(save(services, row, other))
    output = cli(services, capsys, *RENAME)
    assert "builders has machines of its own already (1)" in " ".join(output.err.split())
    assert len(requests(services)) == 1


TAKER = FleetRow(name=BUILDERS.name, created=NOW)


@pytest.mark.parametrize(
    ("services", "argv", "why"),
    [
        ((BUILDERS, FLEET), (), "web is in the file: take its table out first"),
        ((BUILDERS,), (), "nothing is left of a fleet web"),
        ((replace(BUILDERS, removed=True), GONE), (), "builders is not in the file"),
        ((BUILDERS, GONE), ("--from", "h123"), "one at a time"),
        (
            (replace(BUILDERS, account=AccountName("other")), GONE),
            (),
            "machines cannot go from one to the other",
        ),
    ],
    ids=["in the file", "nothing left", "not in the file", "both", "another account"],
)
def test_what_cannot_be_carried_over_is_refused(
    capsys: Out, services: tuple[Fleet, ...], argv: tuple[str, ...], why: str
) -> None:
    made_ready = renamed(*services)
    output = cli(made_ready, capsys, *RENAME, *argv)
    assert (output.code, why in " ".join(output.err.split())) == (2, True), output.err
    assert requests(made_ready) == ()


@pytest.mark.parametrize(
    ("row", "why"),
    [
        (replace(TAKER, adopts=FleetName("web")), "is taking over the machines of web already"),
        (replace(TAKER, adopts=FleetName("ci")), "taking over the machines of ci: ask after that"),
    ],
    ids=["already", "busy"],
)
def test_one_move_at_a_time(capsys: Out, row: FleetRow, why: str) -> None:
    services = renamed(row=row)
    output = cli(services, capsys, *RENAME)
    assert (output.code, why in " ".join(output.err.split())) == (2, True), output.err


def test_machines_of_a_fleet_that_ends_are_not_carried_over(capsys: Out) -> None:
    services = renamed()
    (row,) = run(services.store_.fleets())
    run(save(services, replace(row, ends=True)))
    output = cli(services, capsys, *RENAME)
    assert (output.code, "web is being deleted" in output.err) == (2, True)


def test_a_table_that_cannot_be_read_says_so() -> None:
    source = Source(name=FleetName("web"), fleet=None, unreadable="its provider is gone")
    with pytest.raises(RequestRefused, match="for its provider is gone"):
        adopt_fleet(Author(name="ann", at=NOW), BUILDERS, source)
