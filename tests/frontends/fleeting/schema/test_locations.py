"""Where the schema is looked for, in which order, and what is reported if it is nowhere."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from msgspec.structs import replace
from schema_kit import written

from hostler.frontends.fleeting.schema.binary.processes import Process, ProcFolder
from hostler.frontends.fleeting.schema.cache import read_cache
from hostler.frontends.fleeting.schema.learn import Learning, Learnt, learn, relearn

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
RUNNER = written().SerializeToString(deterministic=True)
OTHER = written(package="other.v3").SerializeToString(deterministic=True)


@dataclass(frozen=True)
class Above:
    """Ancestors as a test wants them."""

    found: Sequence[Process] = ()

    def ancestors(self) -> Sequence[Process]:
        return self.found


def put(folder: Path, name: str, content: bytes = RUNNER) -> Path:
    path = folder / name
    path.write_bytes(b"\x7fELF" + bytes(60) + content + b"tail")
    path.chmod(0o755)
    return path


def process(path: Path, *, pid: int = 10, name: str = "sh", command: str = "") -> Process:
    return Process(pid=pid, name=name, command=(command,) if command else (), executable=path)


def learning(*above: Process, **parts: object) -> Learning:
    usual = Learning(processes=Above(above), now=lambda: NOW, search="")
    return replace(usual, **parts)


def names(learnt: Learnt) -> list[str]:
    return [one.name for one in learnt.served]


def warnings(learnt: Learnt) -> str:
    return "\n".join(line.text for line in learnt.log if line.level == "warning")


# ---------------------------------------------------------------- the order


def test_the_nearest_ancestor_with_a_service_is_taken_and_told(tmp_path: Path) -> None:
    shell = tmp_path / "sh"
    shell.write_bytes(b"#!/bin/sh")
    near, far = put(tmp_path, "near"), put(tmp_path, "far", OTHER)
    learnt = learn(
        learning(
            process(shell, pid=12),
            process(near, pid=11, name="gitlab-runner"),
            process(far, pid=1, name="init"),
        )
    )
    assert names(learnt) == ["test.v1.Plugin"]
    assert "process 11 (gitlab-runner)" in learnt.origin
    assert warnings(learnt) == ""


def test_the_operators_choice_counts_before_the_ancestors(tmp_path: Path) -> None:
    chosen = put(tmp_path, "chosen", OTHER)
    learnt = learn(learning(process(put(tmp_path, "runner")), choice=str(chosen)))
    assert names(learnt) == ["other.v3.Plugin"]


@pytest.mark.parametrize("content", [None, b"nothing here"])
def test_a_choice_that_fails_is_refused_and_nothing_else_is_tried(
    tmp_path: Path, content: bytes | None
) -> None:
    chosen = tmp_path / "typo"
    if content is not None:
        chosen.write_bytes(content)
    put(tmp_path, "gitlab-runner")
    found = learning(process(put(tmp_path, "r")), choice=str(chosen), search=str(tmp_path))
    learnt = learn(found)
    assert learnt.services == ()
    assert str(chosen) in learnt.refusal
    assert "process" not in learnt.refusal


def test_a_runner_that_cannot_be_read_is_found_by_its_command_line(tmp_path: Path) -> None:
    put(tmp_path, "gitlab-runner")
    closed = process(tmp_path / "gone", name="gitlab-runner", command="gitlab-runner")
    learnt = learn(learning(closed, search=str(tmp_path)))
    assert names(learnt) == ["test.v1.Plugin"]
    assert "it may be newer on disk than what runs" in warnings(learnt)
    assert "command line of process 10" in learnt.origin


def test_what_does_not_look_like_a_runner_is_not_followed_by_its_command_line(
    tmp_path: Path,
) -> None:
    put(tmp_path, "launcher")
    closed = process(tmp_path / "gone", name="launcher", command="launcher")
    assert learn(learning(closed, search=str(tmp_path))).services == ()


def test_an_installed_runner_is_the_last_that_is_read(tmp_path: Path) -> None:
    put(tmp_path, "gitlab-runner")
    learnt = learn(learning(search=str(tmp_path)))
    assert names(learnt) == ["test.v1.Plugin"]
    assert "found on the search path" in learnt.origin
    assert "or another one" in warnings(learnt)


def test_a_refusal_names_every_candidate_with_its_reason_and_the_way_out(tmp_path: Path) -> None:
    shell = tmp_path / "sh"
    shell.write_bytes(b"#!/bin/sh")
    put(tmp_path, "gitlab-runner", b"no descriptor")
    learnt = learn(
        learning(process(shell, pid=12), process(tmp_path / "no", pid=11), search=str(tmp_path))
    )
    for part in (
        "process 12 (sh): no protobuf descriptor",
        "process 11 (sh): cannot be read",
        "gitlab-runner, found on the search path: no protobuf",
        "HOSTLER_FLEETING_SCHEMA",
    ):
        assert part in learnt.refusal
    assert learnt.states == frozenset()


def test_without_ancestors_it_is_said_that_none_could_be_observed() -> None:
    assert "no process above this one" in learn(learning()).refusal


# ---------------------------------------------------------------- what was cached


def served_once(tmp_path: Path) -> Path:
    """Serve once, and return where the schema was cached."""
    cache = tmp_path / "state" / "cache"
    learnt = learn(learning(process(put(tmp_path, "runner")), cache=cache))
    assert not cache.exists()
    learnt.begun()
    return cache


def test_what_has_served_is_used_where_no_runner_can_be_read(tmp_path: Path) -> None:
    cache = served_once(tmp_path)
    later = NOW + timedelta(days=2, hours=1)
    closed = process(tmp_path / "gone", name="gitlab-runner")
    learnt = learn(learning(closed, cache=cache, now=lambda: later))
    assert names(learnt) == ["test.v1.Plugin"]
    assert "cached 2 days, 1:00:00 ago" in warnings(learnt)
    assert "process 10 (gitlab-runner): cannot be read" in warnings(learnt)
    before = read_cache(cache)
    learnt.begun()
    assert read_cache(cache) == before


def test_what_was_cached_does_not_count_where_a_runner_was_read_and_has_none(
    tmp_path: Path,
) -> None:
    cache = served_once(tmp_path)
    changed = process(put(tmp_path, "gitlab-runner", b"changed"), name="gitlab-runner")
    assert learn(learning(changed, cache=cache)).services == ()


def test_what_was_cached_does_not_count_against_a_choice(tmp_path: Path) -> None:
    cache = served_once(tmp_path)
    assert learn(learning(cache=cache, choice=str(tmp_path / "typo"))).services == ()


def test_a_damaged_cache_is_as_none(tmp_path: Path) -> None:
    cache = served_once(tmp_path)
    content = cache.read_bytes()
    for size in range(0, len(content), 37):
        cache.write_bytes(content[:size])
        assert learn(learning(cache=cache)).services == ()


def test_a_cache_that_cannot_be_written_troubles_nobody(tmp_path: Path) -> None:
    (tmp_path / "state").write_bytes(b"a file, no folder")
    found = learning(process(put(tmp_path, "runner")), cache=tmp_path / "state" / "cache")
    learn(found).begun()
    assert names(learn(found)) == ["test.v1.Plugin"]


def test_what_was_cached_can_be_learnt_again(tmp_path: Path) -> None:
    cache = read_cache(served_once(tmp_path))
    assert cache is not None
    assert names(relearn(learning(), cache)) == ["test.v1.Plugin"]


# ---------------------------------------------------------------- override files


def test_an_override_file_settles_a_refusal_for_the_same_runner(tmp_path: Path) -> None:
    file = written({"DecreaseReply": "repeated string victims = 4;"})
    runner = process(put(tmp_path, "r", file.SerializeToString(deterministic=True)))
    override = tmp_path / "schema.toml"
    refused = learn(learning(runner, override=override))
    assert names(refused) == []
    assert str(override) in refused.refusal
    lines = refused.refusal.split("\n\n")[-1]
    override.write_text(lines, encoding="utf-8")
    learnt = learn(learning(runner, override=override))
    assert names(learnt) == ["test.v1.Plugin"]
    assert "override: Decrease.reply.succeeded is victims" in warnings(learnt)


def test_without_a_usual_place_a_refusal_tells_how_to_name_the_file(tmp_path: Path) -> None:
    file = written({"DecreaseReply": "repeated string victims = 4;"})
    runner = process(put(tmp_path, "r", file.SerializeToString(deterministic=True)))
    assert "a file that HOSTLER_FLEETING_OVERRIDE names" in learn(learning(runner)).refusal


def test_of_two_services_one_may_be_refused_and_the_lines_name_it(tmp_path: Path) -> None:
    odd = written({"DecreaseReply": "repeated string victims = 4;"}, package="odd.v2")
    both = RUNNER + bytes(40) + odd.SerializeToString(deterministic=True)
    runner, override = process(put(tmp_path, "r", both)), tmp_path / "schema.toml"
    learnt = learn(learning(runner, override=override))
    assert (names(learnt), learnt.refusal) == (["test.v1.Plugin"], "")
    reason = learnt.refusals["odd.v2.Plugin"]
    assert '["odd.v2.Plugin".Decrease.reply]' in reason
    override.write_text(reason.split("\n\n")[-1], encoding="utf-8")
    assert len(names(learn(learning(runner, override=override)))) == 2


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"[Decrease.reply", "not TOML"),
        (b"\xff\xfe", "not TOML"),
        (b"[Shrink.reply]\nsucceeded = 'x'", "Shrink: unknown"),
        (b"[Decrease.answer]\nsucceeded = 'x'", "Decrease.answer: expected"),
        (b"[Decrease.reply]\nwinners = 'x'", "Decrease.reply.winners: unknown"),
        (b"[Decrease.reply]\nsucceeded = 4", "Decrease.reply.succeeded: expected a text"),
        (b"states = 4", "states: expected a table"),
        (b"[states]\nflying = 'x'", "states.flying: unknown"),
        (b"['a.B'.Incr]\nx = 'y'", '"a.B".Incr: unknown'),
    ],
)
def test_an_override_file_with_a_mistake_is_refused_with_its_place(
    tmp_path: Path, content: bytes, message: str
) -> None:
    override = tmp_path / "schema.toml"
    override.write_bytes(content)
    learnt = learn(learning(process(put(tmp_path, "r")), override=override))
    assert message in learnt.refusal
    assert learnt.services == ()


def test_a_file_that_was_named_and_is_missing_is_refused(tmp_path: Path) -> None:
    missing = tmp_path / "typo.toml"
    runner = process(put(tmp_path, "r"))
    assert learn(learning(runner, override=missing)).refusal == ""
    assert "typo.toml" in learn(learning(runner, override=missing, named=(missing,))).refusal


# ---------------------------------------------------------------- /proc


def fake(root: Path, pid: int, parent: int, name: str = "sh", command: bytes = b"") -> None:
    folder = root / str(pid)
    folder.mkdir(parents=True)
    (folder / "stat").write_text(f"{pid} ({name}) S {parent} 1 1", encoding="utf-8")
    (folder / "comm").write_text(f"{name}\n", encoding="utf-8")
    (folder / "cmdline").write_bytes(command)


def test_ancestors_are_read_from_proc_up_to_the_first(tmp_path: Path) -> None:
    fake(tmp_path, 40, 30)
    fake(tmp_path, 30, 20, "odd) S 7 (name", b"/usr/bin/gitlab-runner\0run\0")
    fake(tmp_path, 20, 0, "init")
    found = ProcFolder(40, tmp_path).ancestors()
    assert [(one.pid, one.name) for one in found] == [(30, "odd) S 7 (name"), (20, "init")]
    assert found[0].command == ("/usr/bin/gitlab-runner", "run")
    assert found[0].executable == tmp_path / "30" / "exe"


def test_at_most_eight_ancestors_are_asked_and_a_circle_ends(tmp_path: Path) -> None:
    for pid in range(10, 30):
        fake(tmp_path, pid, pid + 1)
    assert len(ProcFolder(10, tmp_path).ancestors()) == 8
    fake(tmp_path, 50, 51)
    fake(tmp_path, 51, 52)
    fake(tmp_path, 52, 51)
    assert [one.pid for one in ProcFolder(50, tmp_path).ancestors()] == [51, 52]


def test_without_proc_there_are_no_ancestors(tmp_path: Path) -> None:
    assert ProcFolder(10, tmp_path / "none").ancestors() == []


@pytest.mark.parametrize("name", ["", "folder"])
def test_a_folder_is_said_to_be_one_as_where_the_runner_is_not_on_the_path(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An empty name, as `command -v` leaves it, means the current folder."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    learnt = learn(learning(choice=str(Path(name))))
    assert "it is a folder; name the runner's executable" in learnt.refusal
