"""`hostler reload` beside objects: what is compared, planned and answered is the file's own."""

from dataclasses import replace

import pytest
from cli_kit import FILE, FLEET, NOW, InMemory, cli, fill, run

from hostler.config.digests import digests
from hostler.domain.ids import FleetName
from hostler.ports.engine_record import EngineRecord

Out = pytest.CaptureFixture[str]
THEIRS = "fleet.theirs"


def beside_objects(**changes: str) -> InMemory:
    """Return services whose engine runs this file, with the fleet of an object and `changes`."""
    services = InMemory(runs=True)
    tables = {**digests(services.load(FILE)), THEIRS: "x", **changes}
    record = EngineRecord(
        file=str(FILE.resolve()), since=NOW, tables=tables, objects=(THEIRS, "provider.cloud")
    )
    run(fill(services.store_))
    run(services.store_.save_engine_record(record))
    return services


def test_fleets_of_objects_are_no_change_of_the_file(capsys: Out) -> None:
    services = beside_objects(**{"fleet.web": "older"})
    done = cli(services, capsys, "reload", str(FILE), "--dry-run", "--json")
    assert (done.code, done.json["changed"]) == (0, ["fleet.web"])


def test_the_engine_runs_the_file_whatever_objects_there_are_too(capsys: Out) -> None:
    done = cli(beside_objects(), capsys, "reload", str(FILE), "--json")
    assert (done.code, done.json["taken"], done.json["changed"]) == (0, True, [])


def test_fleets_of_objects_are_not_planned_by_the_file(capsys: Out) -> None:
    services = beside_objects()
    theirs = replace(FLEET, name=FleetName("theirs"), removed=True)
    services.fleets = (*services.fleets, theirs)  # as the store has it, and the file has not
    done = cli(services, capsys, "reload", str(FILE), "--dry-run", "--json")
    assert [one["fleet"] for one in done.json["fleets"]] == ["web"]


def test_a_status_by_the_file_does_not_call_it_another_than_the_engines(capsys: Out) -> None:
    done = cli(beside_objects(), capsys, "status", str(FILE), "--json")
    assert done.json["standing"]["differs"] == []
