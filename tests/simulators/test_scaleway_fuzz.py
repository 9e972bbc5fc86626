"""Nothing that a client or a person can send is answered by a plain 500, and nothing spoils a list.

Requests are put together from the routes, the names of fields that handlers read, ids that answers
showed, and junk; scripted faults and the views under /_sim/ are part of it.
"""

import inspect as source
import json
import re
from collections.abc import Iterator
from typing import Any, cast

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hostler.ports.http import HttpRequest
from hostler.simulators.scaleway.faults.rates import BY_NAME
from hostler.simulators.scaleway.inspection import VIEWS, inspect
from hostler.simulators.scaleway.routes import ROUTES, TABLE

from .conftest import SECRET, ZONE, Bench

WORD = re.compile(r'"([a-z][a-z0-9_]{2,40})"')
UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}")
HANDLERS = {source.getmodule(route.handler) for route in TABLE} - {None}
WORDS = sorted({w for module in HANDLERS if module for w in WORD.findall(source.getsource(module))})
LISTS = tuple(route for route in TABLE if route.key.endswith(".list") and route.path.count("*") < 2)
HEADERS = (("X-Auth-Token", SECRET),)
DEEP = b'{"a":' * 5000
RAW = (b"\xff\xfe", b'{"name":"\xff"}', DEEP, b"[]", b'"x"', b'{"name":"\\ud800"}', b"{", b"\x00")

Strategy = st.SearchStrategy[Any]
texts: Strategy = st.one_of(
    st.sampled_from(WORDS),
    st.sampled_from(
        ("", "DEV1-S", "M2-L", "ubuntu_noble", "fr-par-1", "created_at_desc", "10.0.0.0/24", "TCP")
    ),
    st.text(max_size=8),
    st.just("\r\nX: y"),
    st.just("9" * 5000),
)
numbers: Strategy = st.one_of(
    st.integers(-(2**70), 2**70), st.floats(allow_nan=False, allow_infinity=False)
)
sizes: Strategy = st.sampled_from((0, 1, 22, 10**9, 10**10, 10**12, 2**53, 2**53 + 1, 2**64))
leaves: Strategy = st.one_of(st.none(), st.booleans(), numbers, sizes, texts, st.just("$ID"))
values: Strategy = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.one_of(st.sampled_from(WORDS), st.sampled_from("019")), inner, max_size=4
        ),
    ),
    max_leaves=8,
)
bodies: Strategy = st.one_of(
    st.dictionaries(st.sampled_from(WORDS), values, max_size=8), st.sampled_from(RAW), st.none()
)
queries: Strategy = st.lists(st.tuples(st.sampled_from(WORDS), texts), max_size=3)
requests_: Strategy = st.tuples(
    st.sampled_from(TABLE), st.lists(texts, max_size=3), queries, bodies
)
rules: Strategy = st.fixed_dictionaries(
    {"fault": st.one_of(st.sampled_from(sorted(BY_NAME)), values)},
    optional={
        "route": st.one_of(st.sampled_from(ROUTES), values),
        "zone": st.one_of(st.just("fr-par-1"), values),
        "method": st.one_of(st.sampled_from(("GET", "POST")), values),
        "id": values,
        "after": st.one_of(st.integers(0, 2), values),
        "count": st.one_of(st.integers(0, 2), values),
        "spell": st.one_of(st.floats(0, 100), values),
        "says": values,
        "more": values,
    },
)
view_bodies: Strategy = st.one_of(
    st.fixed_dictionaries({"rule": rules}),
    st.fixed_dictionaries({"rates": values}, optional={"spells": values}),
    st.fixed_dictionaries({"act": texts, "id": st.just("$ID")}, optional={"spell": values}),
    st.dictionaries(
        st.sampled_from(
            ("do", "name", "spell", "count", "type", "stock", "retire", "clear", "preset")
        ),
        values,
        max_size=4,
    ),
    st.sampled_from(RAW),
)
views: Strategy = st.tuples(st.sampled_from(sorted(VIEWS)), queries, view_bodies)


RULE = {"protocol": "TCP", "direction": "inbound", "action": "accept", "ip_range": "0.0.0.0/0"}
NETWORK = {"private_network_id": SECRET}
GOOD: dict[str, dict[str, Any]] = {
    "server.create": {"commercial_type": "DEV1-S", "image": "ubuntu_noble"},
    "server.action": {"action": "poweron"},
    "ip.create": {"type": "routed_ipv4"},
    "local_volume.create": {"volume_type": "l_ssd", "size": 10**10},
    "volume.create": {"from_empty": {"size": 10**10}},
    "security_group.create": {"name": "g"},
    "security_rule.create": RULE,
    "security_rule.set": {"rules": [RULE]},
    "placement_group.create": {"name": "g"},
    "mac.create": {"type": "M2-L", "enable_vpc": True},
    "mac.batch": {"type": "M2-L", "requests": [{"name": "m"}]},
    "network.create": {"name": "n", "subnets": ["10.0.0.0/24"]},
    "ipam.create": {"source": NETWORK},
    "nic.create": NETWORK,
    "mac_network.attach": NETWORK,
    "vpc.create": {"name": "v"},
    "vpc_route.create": {"vpc_id": "$ID", "destination": "10.0.0.0/24"},
    "interface.create": {"server_id": "$ID", **NETWORK},
    "template.create": {"server_type": "DEV1-S"},
    "api_key.create": {"description": "x"},
    "ssh_key.create": {"public_key": "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAA ci"},
}
"""Bodies that are taken; with some fields changed, they get farther than those of junk alone."""


class Fuzz:
    """One world with something of everything in it, and the ids that its answers showed."""

    def __init__(self) -> None:
        self.bench = Bench()
        self.ids: list[str] = []
        server = self.bench.server()
        self.see(json.dumps(server).encode())
        self.bench.json("POST", f"{ZONE}/ips", {"type": "routed_ipv4", "server": server["id"]})
        self.bench.world.stock_macs(1)
        self.ids += [mac.id for mac in self.bench.world.cloud.macs]

    def see(self, body: bytes) -> None:
        """Note the ids of an answer, the last ones only."""
        found = UUID.findall(body.decode(errors="replace"))
        self.ids = list(dict.fromkeys([*self.ids, *found]))[-40:]

    def filled(self, value: Any, number: int) -> bytes:
        """Return a body as it is sent, with ids in place of their marks."""
        if value is None or isinstance(value, bytes):
            return value or b""
        text = json.dumps(value)
        return text.replace("$ID", self.ids[number % len(self.ids)]).encode()

    def ask(self, drawn: Any, number: int) -> None:
        """Send one request to the API; it must be answered, and not by a plain 500."""
        route, words, query, body = drawn
        if isinstance(body, dict) and number % 4:
            body = {**GOOD.get(route.key, {}), **cast("dict[str, Any]", body)}
        request = HttpRequest(
            method=route.method,
            path=path_of(route.path, [*self.named(number), *words]),
            query=tuple(query),
            headers=HEADERS,
            body=self.filled(body, number),
        )
        reply = self.bench.world.handle(request)
        if reply.response is None or self.bench.world.journal[-1].fault:
            return
        assert reply.response.status != 500, (request, reply.response.body)
        assert all("\n" not in value for _, value in reply.response.headers)
        self.see(reply.response.body)

    def named(self, number: int) -> Iterator[str]:
        """Return ids to be put into a path, as often as not."""
        if number % 3:
            yield self.ids[number % len(self.ids)]

    def look(self, drawn: Any, number: int) -> None:
        """Send one request to a view; it is answered or refused."""
        (method, path), query, body = drawn
        path = path.replace("*", self.ids[number % len(self.ids)])
        request = HttpRequest(
            method=method, path=path, query=tuple(query), body=self.filled(body, number)
        )
        assert inspect(self.bench.world, request).status in {200, 400}

    def calm(self) -> None:
        """End all faults and look at every list: all can be shown."""
        self.bench.world.clear_fault_rates()
        self.bench.now += 500.0
        for route in LISTS:
            query = {"quota.list": f"organization_id={self.bench.world.options.organization}"}
            place = route.path.replace("zones/*", "zones/fr-par-1")
            answer = self.bench.ask(
                "GET", place.replace("regions/*", "regions/fr-par"), query=query.get(route.key, "")
            )
            wants_more = route.key == "market_version.list"
            assert answer.status == (404 if wants_more else 200), (route.key, answer.body)


def path_of(path: str, words: list[str]) -> str:
    """Return a path with words for its arguments; its place is one that there is."""
    path = path.replace("zones/*", "zones/fr-par-1").replace("regions/*", "regions/fr-par")
    for word in words:
        path = path.replace("*", word.replace("*", "") or "x", 1)
    return path.replace("*", "cloud-init")


@settings(max_examples=60, deadline=None, suppress_health_check=(HealthCheck.too_slow,))
@given(st.lists(st.tuples(st.one_of(requests_, views), st.integers(0, 60)), max_size=25))
def test_no_request_is_answered_by_a_plain_500_and_none_spoils_a_list(drawn: Any) -> None:
    fuzz = Fuzz()
    for one, number in drawn:
        if len(one) == 4:
            fuzz.ask(one, number)
        else:
            fuzz.look(one, number)
        fuzz.bench.now += number
    fuzz.calm()


@pytest.mark.parametrize("body", RAW)
def test_a_body_that_is_no_object_is_refused_by_every_route_that_reads_one(body: bytes) -> None:
    bench = Bench()
    for route in TABLE:
        if route.method in {"POST", "PUT", "PATCH"}:
            path = path_of(route.path, [])
            assert bench.ask(route.method, path, body).status in {400, 404, 200, 204}, route.key


@pytest.mark.parametrize(
    "requests",
    [["x"], [1], [None], [[]], "x", {"a": 1}, [{"name": 1}], [{"name": {"a": 1}}], []],
)
def test_a_batch_of_what_are_no_orders_is_refused(requests: object) -> None:
    bench = Bench()
    path = "/apple-silicon/v1alpha1/zones/fr-par-1/batch-create-servers"
    status, body = bench.refusal("POST", path, {"type": "M2-L", "requests": requests})
    assert (status, body["type"]) == (400, "invalid_arguments")
