"""The SQL files: every query is used and understood, hot ones use an index, steps go forward."""

import re
import sqlite3
from collections.abc import Iterator
from importlib import resources
from pathlib import Path

import pytest

from hostler.domain.errors import StoreError, StoreTooNew
from hostler.domain.ids import FleetName, InstallationId, MachineId
from hostler.stores.sqlite import machines, migrate
from hostler.stores.sqlite.opening import open_beside, open_engine
from hostler.stores.sqlite.queries import SQL, named, statements
from hostler.stores.sqlite.worker import Inline

FRESH = InstallationId("i-1")
PACKAGE = resources.files("hostler.stores.sqlite")
SOURCE = "".join(file.read_text() for file in PACKAGE.iterdir() if file.name.endswith(".py"))


@pytest.fixture
def db() -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    migrate.migrate(connection, Path("hostler.db"), FRESH)
    yield connection
    connection.close()


def plan(db: sqlite3.Connection, name: str) -> str:
    columns = dict.fromkeys(re.findall(r":(\w+)", SQL[name]))
    rows = db.execute(f"EXPLAIN QUERY PLAN {SQL[name]}", columns).fetchall()
    return "; ".join(row[3] for row in rows)


@pytest.mark.parametrize("name", sorted(SQL))
def test_query_is_understood(name: str, db: sqlite3.Connection):
    plan(db, name)


@pytest.mark.parametrize("name", sorted(SQL))
def test_query_is_used(name: str):
    stems = (name, *(name.removesuffix(end) for end in ("living", "deleted")))
    assert any(f'"{stem}"' in SOURCE or f'"{stem}{{' in SOURCE for stem in stems)


@pytest.mark.parametrize(
    "name",
    [
        "epoch",
        "machines",
        "machine",
        "save_living",
        "leave_living",
        "claims",
        "claimed_by",
        "events",
        "events_of_fleet",
        "events_of_machine",
        "events_of_both",
        "images",
        "forgettable",
        "forget_events",
        "forget_events_of",
        "forget_machine",
        "bindings",
        "issued",
    ],
)
def test_query_uses_an_index(name: str, db: sqlite3.Connection):
    found = plan(db, name)
    assert "SEARCH" in found
    assert "SCAN" not in found.replace("SCAN 2", "")
    if name.startswith(("machines", "events", "forget")):
        assert "TEMP B-TREE" not in found


def test_names_and_statements_are_read_from_a_script():
    script = "-- about\n\n-- name: one\nSELECT 1;\n\n-- name: two\nSELECT ';'\n;\n"
    assert dict(named(script)) == {"one": "SELECT 1", "two": "SELECT ';'\n"}
    trigger = "CREATE TABLE a (b);\nCREATE TRIGGER t AFTER INSERT ON a BEGIN\nSELECT 1;\nEND;\n"
    assert [line[:10] for line in statements(trigger)] == ["CREATE TAB", "CREATE TRI"]


def test_an_older_file_goes_forward_and_keeps_its_records(
    db: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
):
    scripts = {"next.sql": "ALTER TABLE requests ADD COLUMN colour TEXT DEFAULT 'red';\n"}
    monkeypatch.setattr(migrate, "text", scripts.__getitem__)
    db.execute("INSERT INTO requests (doc) VALUES ('{}')")
    steps = (*migrate.STEPS, "next.sql")
    migrate.migrate(db, Path("hostler.db"), InstallationId("i-2"), steps)
    assert db.execute("SELECT doc, colour FROM requests").fetchall() == [("{}", "red")]
    assert db.execute("PRAGMA user_version").fetchone() == (len(steps),)
    assert db.execute("SELECT id FROM installations").fetchall() == [("i-1",)]
    with pytest.raises(StoreTooNew):
        migrate.migrate(db, Path("hostler.db"), FRESH)


def test_an_older_file_issued_the_ids_that_its_records_have():
    db = sqlite3.connect(":memory:", isolation_level=None)
    migrate.migrate(db, Path("hostler.db"), FRESH, ("schema.sql",))
    db.execute("INSERT INTO machines VALUES ('m-1', 'web', 1, 1, '{}')")
    db.execute("INSERT INTO history VALUES ('m-2', 'web', 2, 1, 0, '{}')")
    db.execute('INSERT INTO fleets VALUES (\'web\', 1, \'{"orders": [{"id": "m-3"}]}\')')
    db.execute("INSERT INTO fleets VALUES ('ci', 1, '{}')")
    migrate.migrate(db, Path("hostler.db"), FRESH)
    asked = tuple(MachineId(f"m-{number}") for number in range(5))
    assert machines.issued(db, asked) == {"m-1", "m-2", "m-3"}
    db.close()


def test_an_older_file_spent_what_its_history_did():
    db = sqlite3.connect(":memory:", isolation_level=None)
    migrate.migrate(db, Path("hostler.db"), FRESH, ("schema.sql", "issued.sql"))
    costs = ('{"billing": {"spent": 1.5}}', "{}", '{"billing": {"spent": 2.0}}')
    for number, document in enumerate(costs):
        row = (f"m-{number}", "web", number, 1, 0, document)
        db.execute("INSERT INTO history VALUES (?, ?, ?, ?, ?, ?)", row)
    migrate.migrate(db, Path("hostler.db"), FRESH)
    assert machines.spent(db, FleetName("web")) == 3.5
    assert machines.spent(db, FleetName("ci")) == 0.0
    db.close()


def test_a_step_that_fails_changes_nothing(db: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch):
    scripts = {"next.sql": "CREATE TABLE extra (a);\nALTER TABLE nothing ADD COLUMN b;\n"}
    monkeypatch.setattr(migrate, "text", scripts.__getitem__)
    with pytest.raises(sqlite3.OperationalError):
        migrate.migrate(db, Path("hostler.db"), FRESH, (*migrate.STEPS, "next.sql"))
    assert db.execute("PRAGMA user_version").fetchone() == (len(migrate.STEPS),)
    assert db.execute("SELECT 1 FROM sqlite_master WHERE name = 'extra'").fetchone() is None


async def test_beside_an_older_file_asks_for_its_engine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    path = tmp_path / "hostler.db"
    await open_engine(path, "i-1", runner=Inline).close()
    monkeypatch.setattr(migrate, "STEPS", (*migrate.STEPS, "next.sql"))
    with pytest.raises(StoreError, match=r"older hostler .*start the engine of this version once"):
        open_beside(path, runner=Inline)
