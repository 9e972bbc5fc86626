"""The verbs against scripted exchanges: what is sent, and what each answer means."""

import contextlib
import json
import socket
from datetime import timedelta

import msgspec
import pytest
from aiohttp import web
from msgspec.structs import replace
from scripted import (
    BOXES,
    PATH,
    TOKEN,
    Handler,
    answer,
    box,
    item,
    page,
    refusal,
    scripted,
    status_of,
    stream,
    text,
)

from hostler.kubernetes import errors, session
from hostler.kubernetes.client import Client
from hostler.kubernetes.config import ClusterConfig
from hostler.kubernetes.credentials import FixedCredentials, Identity
from hostler.kubernetes.objects import Key, Metadata
from hostler.kubernetes.requests import (
    Deletion,
    Propagation,
    Selection,
    Watching,
    json_patch,
    merge_patch,
)
from hostler.kubernetes.resources import Resource
from hostler.ports.secret import Secret


class Eviction(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    api_version: str = ""
    kind: str = ""
    metadata: Metadata


B = Key("ns", "b")
ONE = f"{PATH}/b"


async def test_get_decodes_what_is_named_and_drops_managed_fields() -> None:
    async with scripted(("GET", ONE, answer(box("b", "7", size=2)))) as (client, script):
        got = await client.get(BOXES, B)
    assert got.metadata.resource_version == "7"
    assert got.spec == {"size": 2}
    assert b"managedFields" not in msgspec.json.encode(got)
    assert script.seen[0].headers["Authorization"] == f"Bearer {TOKEN}"


async def test_a_list_is_read_page_by_page_as_of_one_version() -> None:
    collection = "/apis/example.com/v1/boxes"
    async with scripted(
        ("GET", collection, answer(page([box("a", "1")], "9", "next"))),
        ("GET", collection, answer(page([box("b", "2")], "9"))),
    ) as (client, script):
        listing = await client.list_all(BOXES, Selection(labels="x=y"), limit=1)
    assert [each.metadata.name for each in listing.items] == ["a", "b"]
    assert listing.version == "9"
    assert script.seen[0].query == {"labelSelector": "x=y", "limit": "1"}
    assert script.seen[1].query["continue"] == "next"


async def test_an_expired_page_starts_the_list_anew() -> None:
    collection = "/apis/example.com/v1/boxes"
    async with scripted(
        ("GET", collection, answer(page([box("old", "1")], "9", "next"))),
        ("GET", collection, refusal(410, "Expired")),
        ("GET", collection, answer(page([box("new", "2")], "12"))),
    ) as (client, script):
        listing = await client.list_all(BOXES)
    assert [each.metadata.name for each in listing.items] == ["new"]
    assert "continue" not in script.seen[2].query


async def test_an_empty_list_may_be_null() -> None:
    body = {"kind": "BoxList", "metadata": {"resourceVersion": "3"}, "items": None}
    async with scripted(("GET", PATH, answer(body))) as (client, _):
        listing = await client.list_all(BOXES, Selection(namespace="ns"))
    assert (listing.items, listing.version) == ((), "3")


async def test_a_page_that_leads_to_itself_is_no_list() -> None:
    looped = answer(page([], "9", "next"))
    async with scripted(("GET", PATH, looped), ("GET", PATH, looped)) as (client, _):
        with pytest.raises(errors.Unreadable, match="same page"):
            await client.list_all(BOXES, Selection(namespace="ns"))


async def test_writes_name_the_kind_and_the_manager() -> None:
    async with scripted(
        ("POST", PATH, answer(box("b", "1"), 201)),
        ("PUT", f"{ONE}/status", answer(box("b", "2"))),
    ) as (client, script):
        await client.create(BOXES, item())
        await client.replace(BOXES, item(version="1"), "status")
    sent = json.loads(script.seen[0].body)
    assert (sent["apiVersion"], sent["kind"], sent["spec"]) == ("example.com/v1", "Box", {"n": 1})
    assert script.seen[0].query == {"fieldManager": "hostler"}
    assert json.loads(script.seen[1].body)["metadata"]["resourceVersion"] == "1"


async def test_subresources_may_have_kinds_of_their_own() -> None:
    evictions = Resource(group="", version="v1", plural="pods", kind="Pod", model=Eviction)
    busy = refusal(429, "TooManyRequests", retryAfterSeconds=10)
    path = "/api/v1/namespaces/ns/pods/b/eviction"
    wanted = Eviction(
        api_version="policy/v1", kind="Eviction", metadata=Metadata(name="b", namespace="ns")
    )
    done = answer({"kind": "Status", "metadata": {}, "status": "Success"}, 201)
    async with scripted(("POST", path, busy), ("POST", path, done)) as (client, script):
        with pytest.raises(errors.TooManyRequests) as caught:
            await client.create(evictions, wanted, "eviction")
        await client.create(evictions, wanted, "eviction")
    assert caught.value.retry_after == timedelta(seconds=10)
    assert json.loads(script.seen[0].body)["kind"] == "Eviction"


async def test_replacing_without_a_version_is_refused_here() -> None:
    async with scripted() as (client, _):
        with pytest.raises(ValueError, match="without its version"):
            await client.replace(BOXES, item())


async def test_a_merge_patch_conflicts_only_with_the_version_in_it() -> None:
    async with scripted(
        ("PATCH", ONE, refusal(409, "Conflict")), ("PATCH", ONE, answer(box("b", "3")))
    ) as (client, script):
        read = item(version="1").metadata
        with pytest.raises(errors.Conflict) as caught:
            await client.patch(BOXES, B, merge_patch({"spec": {"n": 2}}, read))
        await client.patch(BOXES, B, json_patch([{"op": "test", "path": "/spec/n", "value": 1}]))
    assert caught.value.retryable
    assert json.loads(script.seen[0].body)["metadata"] == {"resourceVersion": "1"}
    assert script.seen[0].headers["Content-Type"] == "application/merge-patch+json"
    assert script.seen[1].headers["Content-Type"] == "application/json-patch+json"


async def test_apply_says_who_and_whether_by_force() -> None:
    async with scripted(
        ("PATCH", ONE, answer(box("b", "1"), 201)),
        ("PATCH", f"{ONE}/status", answer(box("b", "2"))),
    ) as (client, script):
        await client.apply(BOXES, item())
        await client.apply(BOXES, item(), "status", force=True)
    assert script.seen[0].query == {"fieldManager": "hostler"}
    assert script.seen[1].query == {"fieldManager": "hostler", "force": "true"}
    assert script.seen[0].headers["Content-Type"] == "application/apply-patch+yaml"


async def test_a_deletion_can_name_the_very_object() -> None:
    async with scripted(("DELETE", ONE, answer({"kind": "Status"}))) as (client, script):
        deletion = Deletion(uid="u", version="4", propagation=Propagation.FOREGROUND)
        await client.delete(BOXES, B, deletion)
    sent = json.loads(script.seen[0].body)
    assert sent["preconditions"] == {"uid": "u", "resourceVersion": "4"}
    assert sent["propagationPolicy"] == "Foreground"


@pytest.mark.parametrize(
    ("handler", "expected", "retry"),
    [
        (refusal(404, "NotFound"), errors.NotFound, False),
        (refusal(409, "AlreadyExists"), errors.AlreadyExists, False),
        (refusal(409, "Conflict"), errors.Conflict, True),
        (refusal(410, "Gone"), errors.Expired, True),
        (refusal(422, "Invalid"), errors.Invalid, False),
        (refusal(429, "TooManyRequests"), errors.TooManyRequests, True),
        (refusal(500, "InternalError"), errors.Unavailable, True),
        (refusal(500, "ServerTimeout"), errors.Timeout, True),
        (refusal(503, "ServiceUnavailable"), errors.Unavailable, True),
        (refusal(504, "Timeout"), errors.Timeout, True),
        (refusal(405, "MethodNotAllowed"), errors.Invalid, False),
        (text("<html>Bad gateway</html>", 502, "text/html"), errors.Unavailable, True),
        (text("<html>Sign in</html>", 200, "text/html"), errors.Unreadable, True),
        (text("<html>elsewhere</html>", 302, "text/html"), errors.Unreadable, True),
        (text("<html>none here</html>", 404, "text/html"), errors.Unreadable, True),
        (text('{"metadata": {"name": "b", "res'), errors.Unreadable, True),
        (text("[" * 5000), errors.Unreadable, True),
        (text('{"spec": {}}'), errors.Unreadable, True),
        (answer(box("other", "1")), errors.Unreadable, True),
        (stream(b'{"metadata"', cut=True), errors.Unavailable, True),
    ],
)
async def test_each_answer_is_one_error(
    handler: Handler, expected: type[errors.ApiError], retry: bool
) -> None:
    async with scripted(("GET", ONE, handler)) as (client, _):
        with pytest.raises(errors.ApiError) as caught:
            await client.get(BOXES, B)
    assert type(caught.value) is expected
    assert caught.value.retryable is retry
    assert TOKEN not in str(caught.value)


async def test_a_pause_that_is_asked_for_is_passed_on_within_bounds() -> None:
    late = answer(status_of(429, "TooManyRequests"), 429, Retry_After="7")
    absurd = answer(status_of(429, "TooManyRequests"), 429, Retry_After="99999999999999999999")
    detail = refusal(429, "TooManyRequests", retryAfterSeconds=3)
    async with scripted(("GET", ONE, late), ("GET", ONE, absurd), ("GET", ONE, detail)) as (c, _):
        pauses = list[timedelta | None]()
        for _ in range(3):
            with pytest.raises(errors.TooManyRequests) as caught:
                await c.get(BOXES, B)
            pauses.append(caught.value.retry_after)
    assert pauses == [timedelta(seconds=7), timedelta(minutes=5), timedelta(seconds=3)]


async def test_of_a_message_that_quotes_a_whole_object_the_beginning_is_told() -> None:
    message = f"Box b is invalid: Invalid value: {'x' * 1_000_000}"
    wrong = answer({**status_of(422, "Invalid"), "message": message}, 422)
    async with scripted(("GET", ONE, wrong)) as (client, _):
        with pytest.raises(errors.Invalid, match="Box b is invalid: Invalid value: x") as caught:
            await client.get(BOXES, B)
    assert len(str(caught.value)) < 5000


async def test_a_refusal_comes_with_the_rule_that_would_allow_it() -> None:
    async with scripted(("PUT", f"{ONE}/status", refusal(403, "Forbidden"))) as (client, _):
        with pytest.raises(errors.Forbidden) as caught:
            await client.replace(BOXES, item(version="1"), "status")
    message = str(caught.value)
    assert "kind: Role\n" in message
    assert "  namespace: ns\n" in message
    assert (
        'apiGroups: ["example.com"]\n  resources: ["boxes/status"]\n  verbs: ["update"]' in message
    )


@pytest.mark.parametrize("installed_by", ["", "clusterctl init"])
async def test_a_kind_that_is_not_installed_says_how_it_is(installed_by: str) -> None:
    missing, boxes = text("404 page not found\n", 404), replace(BOXES, installed_by=installed_by)
    async with scripted(("GET", ONE, missing), ("GET", "/apis/example.com", missing)) as (
        client,
        _,
    ):
        cure = installed_by or "hostler kubernetes install"
        with pytest.raises(errors.KindNotServed, match=f"not installed.*{cure}$"):
            await client.get(boxes, B)


async def test_a_kind_of_an_older_version_says_which() -> None:
    versions = {"kind": "APIGroup", "versions": [{"groupVersion": "x", "version": "v1alpha1"}]}
    async with scripted(
        ("GET", ONE, text("404 page not found\n", 404)),
        ("GET", "/apis/example.com", answer(versions)),
    ) as (client, _):
        with pytest.raises(errors.KindNotServed, match="only as v1alpha1, not as v1"):
            await client.get(BOXES, B)


async def test_silence_is_a_timeout_whose_effect_is_unknown() -> None:
    short = timedelta(milliseconds=50)
    async with scripted(("POST", PATH, stream(b" ", hang=True)), deadline=short) as (client, _):
        with pytest.raises(errors.Timeout) as caught:
            await client.create(BOXES, item())
    assert caught.value.unknown


async def test_nobody_there_is_certainly_no_effect() -> None:
    async with scripted() as (client, _):
        pass
    async with scripted() as (other, _):
        closed = other
    with pytest.raises(errors.Unavailable):
        await client.get(BOXES, B)
    with pytest.raises(errors.Unavailable, match="closed"):
        await closed.get(BOXES, B)


async def test_a_connection_that_does_not_come_about_had_no_effect(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As where a firewall drops packets: nothing was sent, and the deadline is not what passed."""
    monkeypatch.setattr(session, "CONNECT", timedelta(milliseconds=100))
    with socket.socket() as full, contextlib.ExitStack() as stack:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        for _ in range(4):  # nobody accepts: the queue is full soon
            waiting = stack.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(full.getsockname())
        address = f"http://127.0.0.1:{full.getsockname()[1]}"
        config = ClusterConfig(server=address, credentials=FixedCredentials(Identity()))
        made = Client(session=session.Session(config), deadline=timedelta(seconds=20))
        with pytest.raises(errors.Unavailable, match=r"no connection within 0\.1 s") as caught:
            await made.get(BOXES, B)
        assert not caught.value.unknown
        with pytest.raises(errors.Unavailable, match=r"no connection within 0\.1 s"):
            await anext(made.watch(BOXES, Watching(version="1")))
        await made.session.close()


class Renewing:
    """Credentials whose first token has expired."""

    def __init__(self) -> None:
        self.token, self.refused = "old", 0

    async def identity(self) -> Identity:
        return Identity(token=Secret(self.token))

    def refuse(self, refused: Identity) -> bool:
        assert refused.token is not None
        self.refused += 1
        self.token = "new"
        return True


async def test_a_401_asks_for_new_credentials_once() -> None:
    async def check(request: web.Request) -> web.StreamResponse:
        good = request.headers["Authorization"] == "Bearer new"
        return await (answer(box("b", "1")) if good else refusal(401, "Unauthorized"))(request)

    renewing = Renewing()
    async with scripted(("GET", ONE, check), ("GET", ONE, check), credentials=renewing) as (c, _):
        assert (await c.get(BOXES, B)).metadata.name == "b"
    denied = refusal(401, "Unauthorized")
    async with scripted(("GET", ONE, denied), ("GET", ONE, denied), credentials=renewing) as (c, _):
        with pytest.raises(errors.Unauthorized):
            await c.get(BOXES, B)
    assert renewing.refused == 2


async def test_a_name_that_names_nothing_is_never_sent() -> None:
    async with scripted() as (client, _):
        with pytest.raises(ValueError, match="names nothing"):
            await client.get(BOXES, Key("ns", ""))


@pytest.mark.parametrize("name", [".", ".."])
async def test_a_name_that_no_object_can_have_is_not_found_and_never_sent(name: str) -> None:
    """Whoever writes an object may name a Secret so: that is a fault of this object alone."""
    async with scripted() as (client, _):
        with pytest.raises(errors.NotFound, match="no object has this name"):
            await client.get(BOXES, Key("ns", name))


async def test_a_name_with_a_slash_stays_one_segment() -> None:
    assert BOXES.path(Key("ns", "a/../../b")) == f"{PATH}/a%2F..%2F..%2Fb"
