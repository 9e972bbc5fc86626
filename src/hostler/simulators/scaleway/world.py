"""One simulated Scaleway: requests in, replies out, under any clock, and without waiting."""

import re
from collections import deque
from collections.abc import Callable
from functools import partial
from random import Random

import msgspec

from hostler.ports.http import HttpRequest, Response

from .api.limits import Bucket, Doorman
from .api.resource import Route
from .delivery.delivery import Delivery, deliver, refusal
from .delivery.fault_injection import FaultInjector, Script
from .faults.rates import CALM, BadFaultRates, FaultRates, Rule
from .macs.console import Console
from .macs.reach import Reach, reach
from .reachable import never
from .routes import ACTIONS, match
from .state import errors
from .state.calls import Answer, Call, Fate, Reply
from .state.errors import Refused
from .state.inventory import Cloud, uuid_of
from .state.ledger import Leak, Line
from .state.options import Options, Stock
from .state.timeline import GATEWAY_LATENCY, Spread, latency_of

DEFAULTS = Options()
JSON = "application/json"
NO_CONTENT = 204  # is said to be JSON, too
ENCODER = msgspec.json.Encoder()
ZONED = re.compile(r"[a-z]{2}-[a-z]{3}(-\d)?")


class World:
    """A Scaleway of one's own.

    `clock` tells the present in seconds and never goes back. What is due happens when somebody
    asks: at each request and each inspection, in the same order in every run with the same `rng`.
    """

    def __init__(
        self,
        clock: Callable[[], float],
        rng: Random,
        options: Options = DEFAULTS,
        fault_rates: FaultRates = CALM,
    ) -> None:
        self._clock = clock
        self.options = options
        self.ssh_port = 0  # where SSH on Macs is served, if it is
        self.cloud = Cloud(options, rng, clock())
        self._injector = FaultInjector(self.cloud, Random(rng.getrandbits(64)), fault_rates)
        self._request_ids = Random(rng.getrandbits(64))
        self._bucket = Bucket(options.rate, options.burst)
        self._doorman = Doorman(options)

    def handle(self, request: HttpRequest, source: str = "") -> Reply:
        """Process one request; `source` says whose it is, for the journal.

        Never raises for anything that a client can send.
        """
        self.advance()
        taken: list[str] = []
        key, latency, delivery = self._carry(request, taken.append)
        self._journal(request, delivery, (key, "+".join(taken), source))
        return self._reply(delivery, latency.draw(self.cloud.dice))

    def advance(self) -> None:
        """Let everything happen that is due."""
        self.cloud.timeline.advance(self._clock())
        self._expect_newborn()

    def script(self, rule: Rule) -> None:
        """Add a scripted fault; raise BadFaultRates for one that can never strike."""
        if why := never(rule, self.options.zones):
            raise BadFaultRates(why)
        self._injector.script(rule)

    @property
    def armed(self) -> tuple[Script, ...]:
        """The scripted faults that still can strike, the oldest first."""
        return self._injector.armed

    def set_fault_rates(self, fault_rates: FaultRates) -> None:
        """Change the fault rates; scripted faults and spells that have begun go on."""
        self.advance()
        self._injector.change(fault_rates)

    def clear_fault_rates(self) -> None:
        """Let faults cease and spells end, so that the end of a simulation is calm."""
        self.advance()
        self._injector.clear()
        self.advance()

    def act(self, fault: str, resource_id: str, spell: float = 60.0) -> bool:
        """Do by hand what an ambient fault does, to one resource; tell if it could be done.

        Raises KeyError where no such ambient fault or resource is.
        """
        self.advance()
        cloud = self.cloud
        shelves = (cloud.servers, cloud.addresses, cloud.macs, cloud.os_images)
        record = next((one for shelf in shelves if (one := shelf.get(resource_id))), None)
        if record is None:
            raise KeyError(resource_id)
        return self._injector.happen(fault, record, spell)

    @property
    def console(self) -> Console:
        """What a person can do with Macs by hand; what is due happens first."""
        self.advance()
        return Console(self.cloud, self._injector.happen)

    def stock_macs(
        self,
        count: int,
        type_name: str = "M2-L",
        zone: str = "fr-par-1",
        prefix: str = "pool-",
    ) -> list[str]:
        """Add Macs that are delivered and ready, and return their ids.

        They are bought now, of the world's own project; none of its keys is on them but those
        that it has now. Raises ValueError where a zone has no such type.
        """
        made = self.console.stock(Stock(count, type_name, zone, prefix))
        self._expect_newborn()
        return made

    def reach(self, address: str) -> Reach | None:
        """Return what one connection to SSH at an address meets now; None where no Mac is."""
        self.advance()
        return reach(self.cloud, address)

    @property
    def fault_rates(self) -> FaultRates:
        """The present fault rates."""
        return self._injector.fault_rates

    @property
    def faults(self) -> dict[str, int]:
        """How often each fault took effect."""
        return self._injector.counts

    @property
    def journal(self) -> deque[Line]:
        """The last requests, the oldest first."""
        return self.cloud.ledger.journal

    @property
    def calls(self) -> dict[str, int]:
        """How many requests each route has had."""
        return self.cloud.ledger.calls

    @property
    def guests(self) -> dict[str, str]:
        """The addresses at which a guest is up, each with the id of its server."""
        return self.cloud.guests

    def leaks(self) -> tuple[Leak, ...]:
        """Return every billable resource that exists, the oldest first."""
        self.advance()
        return self.cloud.ledger.leaks(self.cloud.now)

    def cost(self) -> float:
        """Return what everything that ever was has cost so far, in EUR."""
        self.advance()
        return self.cloud.ledger.cost(self.cloud.now)

    @property
    def next_due(self) -> float | None:
        """When the next planned effect is due on the world's clock, or None."""
        return self.cloud.timeline.next_due

    def _carry(
        self, request: HttpRequest, noted: Callable[[str], None]
    ) -> tuple[str, Spread, Delivery]:
        found = match(request.method, request.path)
        if found is None:
            return "", GATEWAY_LATENCY, Delivery(refusal(unserved(request)))
        route, names = found
        zoned = bool(names) and ZONED.fullmatch(names[0]) is not None
        call = Call(route.key, route.key, request, noted=noted, count=self._injector.count)
        call.place, call.names = (names[0], tuple(names[1:])) if zoned else ("", tuple(names))
        try:
            self._bucket.take(self.cloud.now)
            self._doorman.let_in(route, call)
            call.key = key_of(call)
        except Refused as refused:
            return call.key, GATEWAY_LATENCY, Delivery(refusal(refused))
        call.struck = self._injector.strikes(call)
        delivery = deliver(self._injector, call, partial(self._serve, route))
        return call.key, latency_of(call.key), delivery

    def _serve(self, route: Route, call: Call) -> Answer:
        try:
            answer = route.handler(self.cloud, call)
        except Refused as refused:
            answer = refusal(refused)
        self._expect_newborn()
        return answer

    def _expect_newborn(self) -> None:
        newborn = self.cloud.newborn
        if newborn:
            for record in newborn:
                self._injector.expect(record)
            newborn.clear()

    def _reply(self, delivery: Delivery, delay: float) -> Reply:
        response = delivery.answer and self._response(delivery.answer)
        return Reply(response, delay * self.options.latency + delivery.late, delivery.fate)

    def _response(self, answer: Answer) -> Response:
        body = answer.raw
        if body is None:
            body = b"" if answer.body is None else ENCODER.encode(answer.body)
        kind = answer.content_type if body or answer.status == NO_CONTENT else ""
        kind = kind if answer.content_type == JSON else answer.content_type
        headers = (
            *((("Content-Type", kind),) if kind else ()),
            ("Server", "Scaleway API Gateway (fr-par-3;edge01)"),
            ("X-Request-Id", uuid_of(self._request_ids)),
            *answer.headers,
        )
        return Response(status=answer.status, headers=headers, body=body)

    def _journal(
        self, request: HttpRequest, delivery: Delivery, about: tuple[str, str, str]
    ) -> None:
        key, fault, source = about
        answer = delivery.answer
        status = answer.status if answer and delivery.fate is Fate.ANSWERED else 0
        line = Line(
            self.cloud.now,
            request.method,
            request.path,
            status,
            delivery.fate.value,
            fault,
            key,
            source,
        )
        self.cloud.ledger.note(line)


def unserved(request: HttpRequest) -> Refused:
    """Refuse a request that no route fits; what cannot be shown of its path is left out."""
    path = request.path[:200].encode(errors="replace").decode()
    return errors.not_served(request.method, path)


def key_of(call: Call) -> str:
    """Return the key of a request's route, for an action of a server with the action."""
    if call.base != "server.action":
        return call.base
    key = f"{call.base}.{call.body.get('action')}"
    return key if key in ACTIONS else call.base
