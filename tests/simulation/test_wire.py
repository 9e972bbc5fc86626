"""Seeds on real HTTP: the client's connections, codec and timeouts, over pipes inside the loop."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from pathlib import Path
from random import Random

import pytest
from msgspec.structs import replace

from hostler.access.http import AiohttpTransport
from hostler.lab.scaleway.bystanders import SECRET
from hostler.lab.scaleway.wire import Cable, serve
from hostler.lab.scaleway.world import open_world
from hostler.lab.scenario.faults import Size
from hostler.lab.scenario.run import Result, play
from hostler.lab.servers.environment import ServerEnvironment
from hostler.lab.servers.faults import draw_servers
from hostler.lab.servers.large import draw_any_servers
from hostler.lab.simulate.providers import engines
from hostler.ports.http import Endpoint, HttpRequest, NoAnswer, NotSent
from hostler.simulators.scaleway.faults.rates import Rule
from hostler.simulators.scaleway.state.options import Options
from hostler.testing.time.clock import BEGINNING
from hostler.testing.time.loop import SimLoop
from hostler.testing.time.pipes import Pipe, connect

SIZE = Size()
SERVERS = HttpRequest(
    method="GET",
    path="/instance/v1/zones/fr-par-1/servers",
    headers=(("X-Auth-Token", SECRET),),
)


def on_wire(seed: int, folder: Path) -> Result:
    folder.mkdir()
    return play(engines(ServerEnvironment)(replace(draw_servers(seed, SIZE), wired=True), folder))


@pytest.mark.timeout(120)
@pytest.mark.parametrize("seed", [3, 4, 7])
def test_seed_on_real_http_breaks_no_invariant_and_is_the_same_again(seed: int, tmp_path: Path):
    first = on_wire(seed, tmp_path / "first")
    assert first.violation is None, "\n".join(first.story)
    assert on_wire(seed, tmp_path / "second") == first


def test_a_share_of_the_seeds_speaks_real_http():
    wired = [seed for seed in range(1, 1001) if draw_any_servers(seed, SIZE).wired]
    assert 60 <= len(wired) <= 140


@pytest.mark.parametrize("seed", [2, 3, 6, 11, 13, 40])
def test_the_fleet_of_a_file_is_the_one_that_is_drawn(seed: int):
    """So the same seed goes the same way whether or not its fleet came from a file."""
    drawn = draw_servers(seed, SIZE)
    (fleet,) = ServerEnvironment(drawn).fleets(other=False)
    (read,) = ServerEnvironment(replace(drawn, wired=True)).fleets(other=False)
    assert read.probe.kind is fleet.probe.kind
    known = replace(read, template=fleet.template, probe=fleet.probe, definition="")
    assert known == fleet


# ------------------------------------------------------------ the fates of one request


def sent(
    *rules: Rule, then: Callable[[Cable], Awaitable[object]] | None = None
) -> tuple[object, float]:
    """Send one request under some rules; return the answer or the error, and when it came."""
    loop = SimLoop()

    async def main() -> tuple[object, float]:
        world = open_world(Options(epoch=BEGINNING), loop, Random(1))
        for rule in rules:
            world.script(rule)
        transport = Cable(AiohttpTransport(Endpoint(base=serve(world, "a", loop))))
        try:
            if then is not None:
                return await then(transport), loop.time()
            return await transport.send(SERVERS, timedelta(seconds=30)), loop.time()
        except (NoAnswer, NotSent) as error:
            return error, loop.time()
        finally:
            await transport.close()

    try:
        return loop.run_until_complete(main())
    finally:
        loop.close()


def test_an_answer_comes_as_it_was_given():
    answer, _ = sent()
    assert getattr(answer, "status", None) == 200
    assert b'"servers"' in getattr(answer, "body", b"")


@pytest.mark.parametrize("fault", ["reply_lost", "truncated_json"])
def test_a_connection_that_breaks_is_no_answer(fault: str):
    answer, _ = sent(Rule(fault=fault, count=1))
    assert isinstance(answer, NoAnswer)


def test_what_hangs_is_no_answer_at_the_deadline():
    answer, when = sent(Rule(fault="hung", count=1))
    assert isinstance(answer, NoAnswer)
    assert when == pytest.approx(30.0, abs=0.1)


def test_nothing_is_sent_while_the_network_is_down():
    async def down(transport: Cable) -> object:
        transport.down = True
        return await transport.send(SERVERS, timedelta(seconds=30))

    answer, when = sent(then=down)
    assert isinstance(answer, NotSent)
    assert when == 0.0


def test_where_nothing_listens_nothing_is_sent():
    async def refused(transport: Cable) -> object:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, SimLoop)
        loop.listeners.clear()
        return await transport.send(SERVERS, timedelta(seconds=30))

    answer, _ = sent(then=refused)
    assert isinstance(answer, NotSent)


# ------------------------------------------------------------ pipes


class Half(asyncio.Protocol):
    """Remembers what happens to one end of a connection."""

    def __init__(self) -> None:
        self.heard = list[str]()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        del transport
        self.heard.append("made")

    def data_received(self, data: bytes) -> None:
        self.heard.append(data.decode())

    def connection_lost(self, exc: Exception | None) -> None:
        self.heard.append("broken" if exc else "ended")


def ends(act: Callable[[Pipe], None]) -> tuple[list[str], list[str]]:
    """Return what the near and the far end of a connection heard of an act at the near one."""
    loop, near, far = SimLoop(), Half(), Half()

    async def main() -> None:
        pipe = connect(loop, lambda: near, lambda: far)
        await asyncio.sleep(0)
        act(pipe)
        await asyncio.sleep(1)

    loop.run_until_complete(main())
    loop.close()
    return near.heard, far.heard


def test_what_was_written_before_the_end_arrives():
    def act(pipe: Pipe) -> None:
        pipe.writelines([b"one ", b"two"])
        pipe.close()
        pipe.write(b"late")

    assert ends(act) == (["made", "ended"], ["made", "one two", "ended"])


def test_a_broken_connection_is_seen_as_that_by_the_other_end():
    assert ends(lambda pipe: pipe.abort()) == (["made", "ended"], ["made", "broken"])


def test_who_does_not_read_keeps_what_comes():
    def act(pipe: Pipe) -> None:
        peer = pipe._peer
        assert peer is not None
        peer.pause_reading()
        pipe.write(b"first")
        loop = asyncio.get_running_loop()
        loop.call_later(0.5, peer.resume_reading)
        loop.call_later(0.2, pipe.write, b"second")

    assert ends(act)[1] == ["made", "first", "second"]
