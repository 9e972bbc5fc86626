"""Server: calls are answered whatever they carry, and whatever goes wrong in one ends only it."""

import asyncio
import struct
from collections.abc import Sequence
from pathlib import Path

import pytest
from google.protobuf.message import Message
from google.protobuf.wrappers_pb2 import StringValue
from goplugin_kit import Served, echo, served, streaming, text_of, texts, unary
from grpclib.client import Channel, UnaryStreamMethod, UnaryUnaryMethod
from grpclib.const import Cardinality, Status
from grpclib.exceptions import GRPCError, StreamTerminatedError
from grpclib.health.v1.health_pb2 import HealthCheckRequest, HealthCheckResponse
from grpclib.protocol import Stream

from hostler.frontends.fleeting.contract import Refused
from hostler.frontends.fleeting.goplugin.exchange import _decoded

PATH = "/t.Group/Call"
SHUTDOWN = "/plugin.GRPCController/Shutdown"
STDIO = "/plugin.GRPCStdio/StreamStdio"


async def failed(plugin: Served, path: str = PATH, text: str = "") -> GRPCError:
    with pytest.raises(GRPCError) as raised:
        await plugin.call(path, text)
    return raised.value


async def test_a_call_is_answered(tmp_path: Path) -> None:
    async with served(tmp_path, unary(echo)) as plugin:
        assert await plugin.call(PATH, "räksmörgås") == "räksmörgås"
        assert await plugin.call(PATH) == ""


async def test_large_messages_pass_both_ways(tmp_path: Path) -> None:
    large = "x" * 20_000_000
    async with served(tmp_path, unary(echo)) as plugin:
        assert await plugin.call(PATH, large) == large


async def test_a_stream_of_messages_is_written_in_few_pieces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def many(_: Message) -> Sequence[Message]:
        return texts(*(f"m-{number}" for number in range(1000)))

    pieces = list[int]()
    send = Stream.send_data

    async def counted(stream: Stream, data: bytes, end_stream: bool = False) -> None:
        pieces.append(len(data))
        await send(stream, data, end_stream)

    async with served(tmp_path, streaming(many)) as plugin:
        monkeypatch.setattr(Stream, "send_data", counted)
        assert await plugin.stream(PATH) == [f"m-{number}" for number in range(1000)]
    assert len(pieces) == 2, "one for the request, one for the thousand"


async def test_a_stream_may_be_empty(tmp_path: Path) -> None:
    async def none(_: Message) -> Sequence[Message]:
        return []

    async with served(tmp_path, streaming(none)) as plugin:
        assert await plugin.stream(PATH) == []


async def test_a_refusal_arrives_as_a_go_plugins_error_does(tmp_path: Path) -> None:
    text = "none of 3 can be made: the quota is 0 – 'züri'\nask for more, or less (100%)"

    async def refuse(_: Message) -> Sequence[Message]:
        raise Refused(text)

    async with served(tmp_path, unary(refuse)) as plugin:
        error = await failed(plugin)
        assert (error.status, error.message) == (Status.UNKNOWN, text)
        assert [line["@level"] for line in plugin.logged()] == ["debug"]


async def test_a_long_refusal_arrives_cut(tmp_path: Path) -> None:
    async def refuse(_: Message) -> Sequence[Message]:
        raise Refused("long " * 100_000)

    async with served(tmp_path, unary(refuse)) as plugin:
        message = (await failed(plugin)).message or ""
        assert message.startswith("long ")
        assert len(message) < 10_000


@pytest.mark.parametrize("error", [KeyError("secret"), TimeoutError(), SystemExit(3)])
async def test_a_bug_is_logged_whole_answered_in_short_and_survived(
    tmp_path: Path, error: BaseException
) -> None:
    async def broken(_: Message) -> Sequence[Message]:
        raise error

    async with served(tmp_path, unary(broken), unary(echo, "/t.Group/Echo")) as plugin:
        answer = await failed(plugin)
        assert answer.status is Status.INTERNAL
        assert "secret" not in (answer.message or "")
        assert await plugin.call("/t.Group/Echo", "alive") == "alive"
        (line,) = plugin.logged()
    assert line["@level"] == "error"
    assert "in broken" in str(line["stacktrace"])
    assert line["method"] == PATH


@pytest.mark.parametrize("count", [0, 2])
async def test_a_unary_method_with_another_number_of_replies_is_a_bug(
    tmp_path: Path, count: int
) -> None:
    async def wrong(_: Message) -> Sequence[Message]:
        return texts(*["x"] * count)

    async with served(tmp_path, unary(wrong)) as plugin:
        assert (await failed(plugin)).status is Status.INTERNAL


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (struct.pack(">BI", 0, 3) + b"\xff\xff\xff", Status.INTERNAL),
        (struct.pack(">BI", 1, 0), Status.UNIMPLEMENTED),
        (struct.pack(">BI", 0, 1 << 31), Status.RESOURCE_EXHAUSTED),
        (struct.pack(">BI", 0, 3) + b"\xff", Status.INTERNAL),
        (b"\x00\x00", Status.INTERNAL),
        (b"", Status.OK),
    ],
)
async def test_a_request_that_is_no_message_gets_an_answer(
    tmp_path: Path, data: bytes, status: Status
) -> None:
    async with served(tmp_path, unary(echo)) as plugin:
        assert await raw(plugin.channel, PATH, data) is status
        assert await plugin.call(PATH, "alive") == "alive"


async def test_bytes_that_are_no_message_are_no_bug_of_ours(tmp_path: Path) -> None:
    data = struct.pack(">BI", 0, 2) + b"\x0a\x09"
    async with served(tmp_path, unary(echo)) as plugin:
        assert await raw(plugin.channel, PATH, data) is Status.INTERNAL
        assert "bug" not in str(plugin.logged())
    with pytest.raises(GRPCError) as raised:
        _decoded(unary(echo), b"\x0a\x09")
    assert raised.value.message is not None
    assert raised.value.message.startswith("2 bytes of a request to /t.Group/Call are no google.")


async def raw(channel: Channel, path: str, data: bytes) -> Status:
    """Send these bytes as a call, and return its status."""
    kind = Cardinality.STREAM_UNARY
    try:
        async with channel.request(path, kind, StringValue, StringValue, timeout=20) as stream:
            await stream.send_request()
            await stream._stream.send_data(data)
            await stream.end()
            await stream.recv_message()
    except GRPCError as error:
        return error.status
    return Status.OK


async def test_a_bug_of_our_own_ends_its_call_and_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with served(tmp_path, unary(echo)) as plugin:
        with monkeypatch.context() as patched:
            patched.setattr(plugin.server, "_routes", None)
            with pytest.raises(StreamTerminatedError, match="reset"):
                await plugin.call(PATH)
        assert await plugin.call(PATH, "alive") == "alive"
        assert "TypeError" in str(plugin.logged()[0]["stacktrace"])


async def test_a_deadline_ends_the_call_and_not_the_plugin(tmp_path: Path) -> None:
    ended = asyncio.Event()

    async def slow(_: Message) -> Sequence[Message]:
        try:
            await asyncio.sleep(30)
        finally:
            ended.set()
        return texts("late")

    async with served(tmp_path, unary(slow)) as plugin:
        with pytest.raises((TimeoutError, GRPCError)):
            await plugin.call(PATH, within=0.05)
        await ended.wait()
        assert plugin.calls.running == 0


async def test_a_caller_that_goes_away_ends_its_call(tmp_path: Path) -> None:
    begun, ended = asyncio.Event(), asyncio.Event()

    async def slow(_: Message) -> Sequence[Message]:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return texts("late")

    async with served(tmp_path, unary(slow)) as plugin, asyncio.TaskGroup() as tasks:
        call = tasks.create_task(plugin.call(PATH))
        await begun.wait()
        call.cancel()
        await ended.wait()
        assert plugin.calls.running == 0


async def test_calls_run_beside_each_other(tmp_path: Path) -> None:
    waiting = list[asyncio.Event]()

    async def meet(request: Message) -> Sequence[Message]:
        waiting.append(asyncio.Event())
        if len(waiting) == 300:
            for one in waiting:
                one.set()
        await waiting[-1].wait()
        return [request]

    async with served(tmp_path, unary(meet)) as plugin:
        # HTTP/2 lets a hundred run on a connection: the rest come on others
        more = [Channel(path=plugin.channel._path) for _ in range(2)]
        method = [
            UnaryUnaryMethod(channel, PATH, StringValue, StringValue)
            for channel in (plugin.channel, *more)
        ]
        replies = await asyncio.gather(
            *(method[number % 3](StringValue(value=str(number))) for number in range(300))
        )
        for channel in more:
            channel.close()
    assert [text_of(reply) for reply in replies] == [str(number) for number in range(300)]


async def test_an_unknown_method_is_unimplemented(tmp_path: Path) -> None:
    async with served(tmp_path, unary(echo)) as plugin:
        for path in ("/t.Group/Other", "/plugin.GRPCBroker/StartStream"):
            assert (await failed(plugin, path)).status is Status.UNIMPLEMENTED


async def test_where_nothing_can_be_served_init_of_any_service_says_why(tmp_path: Path) -> None:
    async with served(tmp_path, refusal="no runner was found: give its path") as plugin:
        error = await failed(plugin, "/any.v9.Service/Init")
        assert error.message == "no runner was found: give its path"
        assert (await failed(plugin, "/any.v9.Service/Update")).status is Status.UNIMPLEMENTED


@pytest.mark.parametrize(
    ("service", "known"), [("", True), ("plugin", True), ("plug", False), ("grpc", False)]
)
async def test_health_knows_the_service_that_a_host_pings(
    tmp_path: Path, service: str, known: bool
) -> None:
    async with served(tmp_path) as plugin:
        check = UnaryUnaryMethod(
            plugin.channel, "/grpc.health.v1.Health/Check", HealthCheckRequest, HealthCheckResponse
        )
        asked = HealthCheckRequest(service=service)
        if known:
            assert (await check(asked)).status == HealthCheckResponse.SERVING
        else:
            with pytest.raises(GRPCError) as raised:
                await check(asked)
            assert raised.value.status is Status.NOT_FOUND


async def test_health_is_watched_until_the_end(tmp_path: Path) -> None:
    async with served(tmp_path) as plugin:
        path = "/grpc.health.v1.Health/Watch"
        watch = UnaryStreamMethod(plugin.channel, path, HealthCheckRequest, HealthCheckResponse)
        async with watch.open() as stream:
            await stream.send_message(HealthCheckRequest(service="plugin"), end=True)
            first = await stream.recv_message()
            assert first is not None
            assert first.status == HealthCheckResponse.SERVING
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.05):
                    await stream.recv_message()
            await stream.cancel()


async def test_stdio_stays_open_until_the_plugin_ends(tmp_path: Path) -> None:
    async with served(tmp_path) as plugin:
        stdio = UnaryStreamMethod(plugin.channel, STDIO, StringValue, StringValue)
        async with stdio.open() as stream:
            await stream.send_message(StringValue(), end=True)
            await stream.recv_initial_metadata()
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.05):
                    await stream.recv_message()
            plugin.server.close()
            with pytest.raises(StreamTerminatedError):
                await stream.recv_message()


async def test_the_controllers_shutdown_is_answered_and_begins_the_end(tmp_path: Path) -> None:
    async with served(tmp_path) as plugin:
        assert not plugin.life.reason
        assert await plugin.call(SHUTDOWN) == ""
        assert plugin.life.reason == "the host asked for the end"


async def test_callers_may_hang_up_before_they_are_hung_up_on(tmp_path: Path) -> None:
    async with served(tmp_path, unary(echo)) as plugin:
        await plugin.call(PATH)
        loop = asyncio.get_running_loop()
        begun = loop.time()
        await plugin.server.left(0.2)
        assert 0.2 <= loop.time() - begun < 5
        assert await plugin.call(PATH, "still there") == "still there"
        plugin.channel.close()
        await plugin.server.left(30)
        assert loop.time() - begun < 10
        with pytest.raises(OSError, match=r"refused|No such file"):
            await plugin.call(PATH)


async def test_go_plugins_own_services_are_no_calls_that_a_signal_waits_for(
    tmp_path: Path,
) -> None:
    async with served(tmp_path) as plugin:
        await plugin.call(SHUTDOWN)
        assert plugin.calls.begun == 0


async def test_bytes_that_are_no_http2_end_their_connection_only(tmp_path: Path) -> None:
    async with served(tmp_path, unary(echo)) as plugin:
        reader, writer = await asyncio.open_unix_connection(plugin.channel._path)
        writer.write(b"GET / HTTP/1.1\r\n\r\n" * 10)
        await reader.read()
        writer.close()
        assert await plugin.call(PATH, "alive") == "alive"
