"""The aiohttp transport over loopback: what is known, and what is not, after each failure."""

import asyncio
import contextlib
import shutil
import ssl
import subprocess
from collections.abc import AsyncGenerator, Awaitable, Callable
from datetime import timedelta
from pathlib import Path

import pytest

from hostler.access.http import AiohttpTransport
from hostler.ports.http import Endpoint, HttpRequest, NoAnswer, NotSent, Response

Behaviour = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
LONG = timedelta(seconds=10)
GET = HttpRequest(method="GET", path="/instance/v1/x")


@contextlib.asynccontextmanager
async def serving(behaviour: Behaviour, tls: ssl.SSLContext | None = None) -> AsyncGenerator[int]:
    """Serve each connection as `behaviour` says, on a free port."""

    tasks = set[asyncio.Task[object]]()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        try:
            await behaviour(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            writer.close()
            with contextlib.suppress(ConnectionError, ssl.SSLError):
                await writer.wait_closed()

    server = await asyncio.start_server(handle, "127.0.0.1", 0, ssl=tls)
    async with server:
        yield server.sockets[0].getsockname()[1]
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


@contextlib.asynccontextmanager
async def transport(base: str, authorities: Path | None = None) -> AsyncGenerator[AiohttpTransport]:
    made = AiohttpTransport(Endpoint(base=base, authorities=authorities))
    try:
        yield made
    finally:
        await made.close()


async def ask(
    behaviour: Behaviour, request: HttpRequest = GET, deadline: timedelta = LONG, times: int = 1
) -> list[Response]:
    async with serving(behaviour) as port, transport(f"http://127.0.0.1:{port}") as client:
        return [await client.send(request, deadline) for _ in range(times)]


def saying(
    body: bytes, status: str = "200 OK", headers: str = "", length: int | None = None
) -> Behaviour:
    """Answer every request of a connection with this."""

    async def behave(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while await reader.readuntil(b"\r\n\r\n"):
            size = len(body) if length is None else length
            head = f"HTTP/1.1 {status}\r\nContent-Length: {size}\r\n{headers}\r\n"
            writer.write(head.encode() + body)
            await writer.drain()
            if length is not None:
                return

    return behave


def keeping(heard: list[bytes], then: Behaviour) -> Behaviour:
    async def behave(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        heard.append(head)
        length = [line for line in head.lower().split(b"\r\n") if b"content-length:" in line]
        if length:
            heard.append(await reader.readexactly(int(length[0].split(b":")[1])))
        again = asyncio.StreamReader()
        again.feed_data(b"\r\n\r\n")
        again.feed_eof()
        await then(again, writer)

    return behave


async def reset(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.readuntil(b"\r\n\r\n")
    writer.transport.abort()


async def hang(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
    await reader.readuntil(b"\r\n\r\n")
    await reader.read()


async def test_an_answer_is_given_whole_whatever_its_status():
    (answer,) = await ask(saying(b'{"a": 1}', headers="X-Total-Count: 3\r\n"))
    assert (answer.status, answer.body, answer.header("x-total-count")) == (200, b'{"a": 1}', "3")
    (html,) = await ask(saying(b"<html>", "502 Bad Gateway"))
    assert (html.status, html.body) == (502, b"<html>")
    (empty,) = await ask(saying(b"", "429 Too Many Requests"))
    assert (empty.status, empty.body) == (429, b"")


async def test_a_request_goes_over_the_wire_as_it_is():
    heard = list[bytes]()
    request = HttpRequest(
        method="PATCH",
        path="/instance/v1/a b",
        query=(("tags", "hostler=x,y"), ("tags", "é"), ("page", "1")),
        headers=(("X-Auth-Token", "t"), ("Content-Type", "text/plain")),
        body=b"#cloud",
    )
    async with (
        serving(keeping(heard, saying(b""))) as port,
        transport(f"http://127.0.0.1:{port}/base/") as client,
    ):
        await client.send(request, LONG)
    head, body = heard
    line = head.split(b"\r\n")[0].decode()
    assert line == ("PATCH /base/instance/v1/a%20b?tags=hostler%3Dx,y&tags=%C3%A9&page=1 HTTP/1.1")
    assert b"\r\nX-Auth-Token: t\r\n" in head
    assert body == b"#cloud"


async def test_redirects_are_answers_and_are_not_followed():
    (answer,) = await ask(saying(b"", "302 Found", "Location: http://127.0.0.1:1/\r\n"))
    assert answer.status == 302


@pytest.mark.parametrize("method", ["GET", "DELETE", "POST", "PUT", "HEAD"])
async def test_a_connection_that_dies_after_sending_may_have_had_its_effect(method: str):
    connections = list[int]()

    async def once(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connections.append(1)
        await reset(reader, writer)

    with pytest.raises(NoAnswer):
        await ask(once, HttpRequest(method=method, path="/"))
    assert len(connections) == 1


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT"])
async def test_a_kept_connection_that_dies_is_never_tried_again(method: str):
    heard = list[bytes]()

    async def dies(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        heard.append(await reader.readuntil(b"\r\n\r\n"))
        writer.transport.abort()

    with pytest.raises(NoAnswer):
        await ask(dies, HttpRequest(method=method, path="/"), times=2)
    assert len(heard) == 2


async def test_a_body_that_breaks_off_is_no_answer():
    with pytest.raises(NoAnswer):
        await ask(saying(b'{"serv', length=500))


async def test_what_is_not_http_is_no_answer():
    async def babble(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"220 smtp.example.org ESMTP\r\n")
        await writer.drain()

    with pytest.raises(NoAnswer):
        await ask(babble)


async def test_a_server_that_hangs_is_given_up_at_the_deadline():
    with pytest.raises(NoAnswer, match=r"no answer within 0\.2 s"):
        await ask(hang, deadline=timedelta(seconds=0.2))


async def test_a_body_that_drips_is_given_up_at_the_deadline():
    async def drip(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
        for _ in range(1000):
            writer.write(b" ")
            await writer.drain()
            await asyncio.sleep(0.05)

    with pytest.raises(NoAnswer):
        await ask(drip, deadline=timedelta(seconds=0.3))


async def test_a_slow_answer_within_the_deadline_is_an_answer():
    async def slow(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        await asyncio.sleep(0.2)
        writer.write(b"HTTP/1.1 204 No Content\r\n\r\n")
        await writer.drain()

    (answer,) = await ask(slow)
    assert answer.status == 204


async def free_port() -> int:
    async with serving(hang) as port:
        return port


async def test_a_refused_connection_was_not_sent():
    port = await free_port()
    async with transport(f"http://127.0.0.1:{port}") as client:
        with pytest.raises(NotSent, match=f"nothing listens at 127.0.0.1:{port} .*simulator"):
            await client.send(GET, LONG)


async def test_a_name_that_does_not_resolve_was_not_sent():
    async with transport("http://hostler.invalid") as client:
        with pytest.raises(NotSent):
            await client.send(GET, LONG)


async def test_a_deadline_that_has_passed_sends_nothing():
    heard = list[bytes]()
    async with (
        serving(keeping(heard, saying(b""))) as port,
        transport(f"http://127.0.0.1:{port}") as client,
    ):
        for seconds in (0, -1):
            with pytest.raises(NotSent):
                await client.send(GET, timedelta(seconds=seconds))
    assert heard == []


async def test_a_handshake_that_hangs_was_not_sent():
    async def mute(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
        await reader.read()

    async with serving(mute) as port, transport(f"https://127.0.0.1:{port}") as client:
        with pytest.raises(NotSent):
            await client.send(GET, timedelta(seconds=0.3))


async def test_an_endless_answer_is_given_up_once_it_is_longer_than_any_may_be():
    async def endless(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        while True:
            writer.write(b"400\r\n" + b"x" * 1024 + b"\r\n")
            await writer.drain()

    async with serving(endless) as port:
        client = AiohttpTransport(Endpoint(base=f"http://127.0.0.1:{port}", largest=1 << 20))
        with pytest.raises(NoAnswer, match="longer than 1048576 bytes"):
            await client.send(GET, LONG)
        await client.close()


async def test_no_reason_repeats_the_query_which_may_hold_a_password():
    request = HttpRequest(method="GET", path="/cm", query=(("password", "s3cret"),))
    assert "s3cret" not in repr(request)
    async with serving(saying(b"", "what?")) as port, transport(f"http://127.0.0.1:{port}") as it:
        with pytest.raises(NoAnswer) as caught:
            await it.send(request, LONG)
    assert "s3cret" not in f"{caught.value!r} {caught.value.__cause__!r}"


async def test_a_closed_transport_sends_nothing():
    async with serving(saying(b"")) as port:
        client = AiohttpTransport(Endpoint(base=f"http://127.0.0.1:{port}"))
        await client.send(GET, LONG)
        await client.close()
        await client.close()
        with pytest.raises(NotSent):
            await client.send(GET, LONG)


async def test_connections_are_kept_and_used_again():
    connections = list[int]()
    say = saying(b"{}")

    async def count(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connections.append(1)
        await say(reader, writer)

    assert len(await ask(count, times=5)) == 5
    assert len(connections) == 1


async def test_a_proxy_of_the_environment_is_used_unless_the_host_is_excepted(
    monkeypatch: pytest.MonkeyPatch,
):
    heard = list[bytes]()
    async with serving(keeping(heard, saying(b"by proxy"))) as port:
        monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{port}")
        monkeypatch.setenv("no_proxy", "excepted.invalid")
        async with transport("http://api.invalid") as client:
            assert (await client.send(GET, LONG)).body == b"by proxy"
        async with transport("http://excepted.invalid") as client:
            with pytest.raises(NotSent):
                await client.send(GET, LONG)
    assert heard[0].startswith(b"GET http://api.invalid/instance/v1/x HTTP/1.1\r\n")
    assert len(heard) == 1


@pytest.mark.parametrize("header", [("X-Auth-Token", "t"), ("Authorization", "Basic YTpi")])
async def test_nobody_is_told_the_passwords_that_the_user_has_on_file(
    header: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Such as those of ~/.netrc: they are of other programs, and our own login is another one."""
    netrc = tmp_path / "netrc"
    netrc.write_text("default login somebody password s3cret\n")
    monkeypatch.setenv("NETRC", str(netrc))
    heard = list[bytes]()
    async with (
        serving(keeping(heard, saying(b"{}"))) as port,
        transport(f"http://127.0.0.1:{port}") as client,
    ):
        request = HttpRequest(method="GET", path="/x", headers=(header,))
        assert (await client.send(request, LONG)).status == 200
    (head,) = heard
    assert f"{header[0]}: {header[1]}".encode() in head
    assert head.count(b"Authorization") == (header[0] == "Authorization")


async def test_a_proxy_that_refuses_the_tunnel_sent_nothing(monkeypatch: pytest.MonkeyPatch):
    heard = list[bytes]()
    async with serving(keeping(heard, saying(b"no", "403 Forbidden"))) as port:
        monkeypatch.setenv("https_proxy", f"http://127.0.0.1:{port}")
        monkeypatch.setenv("no_proxy", "")
        async with transport("https://api.invalid") as client:
            request = HttpRequest(method="GET", path="/x", headers=(("X-Auth-Token", "s3cret"),))
            with pytest.raises(NotSent) as caught:
                await client.send(request, LONG)
    assert heard[0].startswith(b"CONNECT api.invalid:443")
    assert b"s3cret" not in heard[0]
    assert "s3cret" not in f"{caught.value!r} {caught.value.__cause__!r}"


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A certificate for 127.0.0.1 that signs itself, and its key."""
    openssl = shutil.which("openssl")
    assert openssl, "these tests need openssl to make a certificate"
    folder = tmp_path_factory.mktemp("tls")
    cert, key = folder / "cert.pem", folder / "key.pem"
    subprocess.run(  # noqa: S603 - a fixed command
        [openssl, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
         "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1", "-addext",
         "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(cert)],
        check=True,
        capture_output=True,
    )  # fmt: skip
    return cert, key


@pytest.mark.parametrize("content", ["no certificate", None], ids=["garbage", "gone"])
async def test_authorities_that_cannot_be_read_send_nothing(
    tmp_path: Path, content: str | None
) -> None:
    """They are read for the first request: one box's file must not stop the cycle of all."""
    file = tmp_path / "ca.crt"
    if content is not None:
        file.write_text(content)
    async with transport("https://127.0.0.1:1", file) as made:
        with pytest.raises(NotSent, match=r"X509|No such file"):
            await made.send(GET, LONG)


async def test_authorities_of_our_own_are_trusted_and_others_are_not(
    certificate: tuple[Path, Path],
):
    cert, key = certificate
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(cert, key)
    async with serving(saying(b"safe"), tls) as port:
        async with transport(f"https://127.0.0.1:{port}", cert) as client:
            assert (await client.send(GET, LONG)).body == b"safe"
        async with transport(f"https://127.0.0.1:{port}") as client:
            with pytest.raises(NotSent):
                await client.send(GET, LONG)
