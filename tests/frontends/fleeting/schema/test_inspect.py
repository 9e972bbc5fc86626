"""`hostler fleeting inspect` and `pin`, as a person and a program see them."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from schema_kit import written

from hostler.app.command_line import groups
from hostler.frontends.cli.main import application
from hostler.frontends.cli.main import main as run_command
from hostler.frontends.fleeting.contract import State
from hostler.frontends.fleeting.schema.cache import read_cache
from hostler.frontends.fleeting.schema.learn import learn, usual

WHEN = datetime(2026, 11, 21, tzinfo=UTC)
Run = Callable[..., tuple[int, str, str]]
Put = Callable[..., Path]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run a command line in a state folder of its own; return exit code, output and errors."""
    monkeypatch.setenv("HOSTLER_STATE_DIR", str(tmp_path / "state"))
    for name in ("SCHEMA", "OVERRIDE", "PIN"):
        monkeypatch.delenv(f"HOSTLER_FLEETING_{name}", raising=False)

    def run_one(*words: object) -> tuple[int, str, str]:
        code = run_command(application(groups("fleeting")), ["fleeting", *map(str, words)])
        message = capsys.readouterr()
        return code, message.out, message.err

    return run_one


@pytest.fixture
def put(tmp_path: Path) -> Put:
    """Write a binary with a schema in it."""

    def put_one(bodies: dict[str, str] | None = None, **parts: object) -> Path:
        path = tmp_path / "gitlab-runner"
        content = written(bodies, **parts).SerializeToString(deterministic=True)
        path.write_bytes(b"\x7fELF" + bytes(64) + content + b"and so on")
        return path

    return put_one


def inspected(run: Run, path: Path, *words: object) -> tuple[int, dict[str, Any]]:
    code, out, _ = run("inspect", path, "--json", *words)
    return code, json.loads(out)


def test_a_whole_schema_is_printed_for_programs(run: Run, put: Put) -> None:
    code, message = inspected(run, put())
    assert code == 0
    assert message["service"] == "test.v1.Plugin"
    assert message["served"] == ["test.v1.Plugin"]
    assert message["unmapped"] == []
    assert message["methods"]["Update"] == {
        "path": "/test.v1.Plugin/Update",
        "request": "test.v1.UpdateRequest",
        "reply": "test.v1.UpdateReply",
        "streams": True,
    }
    assert message["mapping"]["ConnectInfo.reply.username"] == {
        "field": "connector.username",
        "number": "2.5",
        "type": "string",
        "level": "exact",
        "reason": "",
    }
    assert message["states"]["running"] == {"value": 2, "name": "STATE_RUNNING", "level": "exact"}


def test_what_is_refused_is_unmapped_and_the_lines_for_it_are_there(run: Run, put: Put) -> None:
    path = put({"DecreaseReply": "repeated string victims = 1;"})
    code, message = inspected(run, path)
    assert code == 1
    assert [one["field"] for one in message["unmapped"]] == ["Decrease.reply.succeeded"]
    assert "Decrease.reply.succeeded" not in message["mapping"]
    assert message["served"] == []
    override = path.with_name("mine.toml")
    override.write_text("\n".join(message["override"]), encoding="utf-8")
    code, message = inspected(run, path, "--override", override)
    assert (code, message["unmapped"]) == (0, [])
    assert message["mapping"]["Decrease.reply.succeeded"]["level"] == "override"


def test_a_person_sees_a_table_and_everything_below_exact(run: Run, put: Put) -> None:
    code, out, _ = run("inspect", put({"IncreaseReply": "int64 n = 1;"}))
    assert code == 0
    for part in ("ConnectInfo.reply.username", "connector.username", "neutral: Increase.reply"):
        assert part in out


def test_a_file_without_a_schema_is_told_as_such(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "other"
    path.write_bytes(b"\x7fELF nothing of ours")
    code, message = inspected(run, path)
    assert (code, message["service"], message["mapping"]) == (1, None, {})
    assert "no protobuf descriptor" in message["refusal"]
    assert inspected(run, tmp_path / "none")[0] == 1
    assert inspected(run, path, "--override", tmp_path / "typo.toml")[0] == 1


def test_a_pin_is_written_where_plugins_look_and_counts_from_then_on(
    run: Run, put: Put, tmp_path: Path
) -> None:
    code, out, _ = run("pin", put())
    pin = tmp_path / "state" / "schema" / "pin.json"
    assert (code, pin.exists()) == (0, True)
    assert str(pin) in out.replace("\n", "")
    assert inspected(run, put())[0] == 0
    changed = put({"IncreaseRequest": "int64 delta = 9;"})
    code, message = inspected(run, changed)
    assert code == 1
    assert "not as it was pinned" in message["refusal"]
    assert run("pin", changed)[0] == 0
    assert inspected(run, changed)[0] == 0


def test_what_is_not_understood_is_not_pinned(run: Run, put: Put, tmp_path: Path) -> None:
    file = tmp_path / "pin"
    code, _, err = run("pin", put({"HeartbeatRequest": "string token = 1;"}), "--file", file)
    assert (code, file.exists()) == (1, False)
    assert "Heartbeat.request.id" in err


def test_what_served_last_is_pinned_where_no_binary_is_named(
    run: Run, put: Put, tmp_path: Path
) -> None:
    assert run("pin")[0] == 1
    environment = {
        "HOSTLER_STATE_DIR": str(tmp_path / "state"),
        "HOSTLER_FLEETING_SCHEMA": str(put()),
    }
    learning = usual(environment, pid=0, root=False, now=lambda: WHEN)
    learnt = learn(learning)
    learnt.begun()
    assert learning.cache is not None
    assert read_cache(learning.cache) is not None
    assert State.RUNNING in learnt.states
    put().unlink()
    assert run("pin")[0] == 0
    assert (tmp_path / "state" / "schema" / "pin.json").exists()


def test_files_are_where_the_environment_says(tmp_path: Path) -> None:
    named = tmp_path / "mine.toml"
    environment = {"HOME": str(tmp_path), "HOSTLER_FLEETING_OVERRIDE": str(named)}
    found = usual(environment, pid=0, root=False, now=lambda: WHEN)
    assert (found.override, found.named) == (named, (named,))
    assert found.pin == tmp_path / ".local/state/hostler/schema/pin.json"
    assert "mine.toml" in learn(found).refusal
    nowhere = usual({}, pid=0, root=False, now=lambda: WHEN)
    assert (nowhere.override, nowhere.pin, nowhere.cache) == (None, None, None)
