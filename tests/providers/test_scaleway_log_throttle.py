"""What an endpoint that cannot be reached writes to the log: one event, and no flood."""

import contextlib
from datetime import timedelta

from scaleway_kit import INSTANCE, SECRET, HandClock, account
from structlog.testing import capture_logs
from structlog.typing import EventDict

from hostler.ports.http import NoAnswer, NotSent, Response
from hostler.providers.scaleway.common.client import Client
from hostler.providers.scaleway.common.errors import TROUBLE
from hostler.providers.scaleway.common.log_throttle import Repeats
from hostler.testing.peers.exchanges import Exchange, Script, answer

S = timedelta(seconds=1)
LOST, DEAF = NoAnswer("reset"), NotSent(f"refused, {SECRET}")
WELL = answer({})
DENIED = answer({"type": "permissions_denied", "message": "no"}, 403)
QUOTA = answer({"type": "quotas_exceeded", "message": "too many"}, 403)
PROXY = answer(b"<html>", 502)
Answer = Response | NotSent | NoAnswer


async def output(*answers: Answer, apart: timedelta = S, method: str = "GET") -> list[EventDict]:
    """Ask so often, each time another path, and return what was logged above debugging."""
    clock = HandClock()
    paths = [f"{INSTANCE}/servers/{number}" for number in range(len(answers))]
    asked = zip(paths, answers, strict=True)
    script = Script([Exchange(method=method, path=path, answer=message) for path, message in asked])
    client = Client(script, account(), clock)
    with capture_logs() as logs:
        for path in paths:
            with contextlib.suppress(*TROUBLE):
                await (client.get(path) if method == "GET" else client.delete(path))
            clock.at += apart
    script.finish()
    return [line for line in logs if line["log_level"] != "debug"]


def events(logs: list[EventDict]) -> list[tuple[str, int]]:
    return [(line["event"], line.get("times", 1)) for line in logs]


async def test_silence_is_told_first_then_once_a_minute_with_its_count_then_its_end():
    logs = await output(*[LOST] * 130, WELL, WELL)
    assert events(logs) == [
        ("no answer", 1),
        ("no answer", 60),
        ("no answer", 60),
        ("answers again", 1),
    ]
    first, later, *_, end = logs
    assert (first["path"], first["error"]) == (f"{INSTANCE}/servers/0", "reset")
    assert later["host"] == end["host"] == "api.scaleway.com"


async def test_it_does_not_matter_how_an_endpoint_is_out_of_order():
    logs = await output(LOST, DEAF, PROXY, LOST, PROXY)
    assert events(logs) == [("no answer", 1)]
    assert events(await output(PROXY, LOST, WELL)) == [("refused", 1), ("answers again", 1)]


async def test_any_answer_of_the_api_itself_ends_a_silence():
    assert events(await output(LOST, DENIED))[1] == ("answers again", 1)
    assert events(await output(LOST, PROXY)) == [("no answer", 1)]


async def test_what_comes_and_goes_is_told_once_a_minute():
    logs = await output(*[LOST, WELL] * 60)
    assert events(logs) == [
        ("no answer", 1),
        ("answers again", 1),
        ("no answer", 30),
        ("answers again", 1),
    ]


async def test_silence_after_a_quiet_hour_is_told_at_once():
    logs = await output(LOST, WELL, LOST, WELL, apart=timedelta(hours=1))
    assert events(logs) == [("no answer", 1), ("answers again", 1)] * 2


async def test_the_same_refusal_is_told_once_a_minute_and_another_one_at_once():
    logs = await output(*[DENIED] * 70, QUOTA, WELL, QUOTA, method="DELETE")
    assert events(logs) == [("refused", 1), ("refused", 60), ("refused", 1)]
    assert [line["type"] for line in logs][1:] == ["permissions_denied", "quotas_exceeded"]


async def test_what_is_not_there_when_it_is_looked_for_is_no_trouble():
    missing = answer({"type": "not_found"}, 404)
    assert await output(missing, missing) == []
    assert events(await output(missing, missing, method="DELETE")) == [("refused", 1)]


async def test_what_is_not_told_is_there_for_debugging_without_the_secret():
    script = Script([Exchange(method="GET", path="/x", answer=DEAF) for _ in range(2)])
    client = Client(script, account(), HandClock())
    with capture_logs() as logs:
        for _ in range(2):
            with contextlib.suppress(NotSent):
                await client.get("/x")
    assert [line["log_level"] for line in logs] == ["warning", "debug"]
    assert {line["error"] for line in logs} == {"refused, ***"}


def test_kinds_that_never_end_take_no_more_room_than_a_few():
    clock = HandClock()
    repeats = Repeats(clock)
    for number in range(1000):
        assert repeats.count(f"kind {number}") == 1
        clock.at += timedelta(milliseconds=1)
    assert repeats.count("kind 999") == 0
    assert repeats.count("kind 990") == 0
    assert repeats.count("kind 0") == 1, "it was forgotten"
