"""Gateway: the server as clients reach it: through a network that loses answers, and an outage."""

import asyncio
from enum import StrEnum

import msgspec
from msgspec import Struct

from hostler.ports.http import HttpRequest, Response

from .call import target_of
from .faults import WRITES, Fault, Faults
from .reads.watches import Watch
from .server import KubernetesServer
from .state.body import Body, mapping, metadata_of, with_metadata
from .state.refusals import About, NoPage, Refusal, forbidden, internal, too_many, too_old

LATE = (1.0, 30.0)
"""Between which numbers of seconds a late watch is silent."""

BEHIND = (1.0, 90.0)
"""Between which numbers of seconds the events of a watch are late that is behind."""

_TOUCHED = "simulator.hostler.dev/touched"


class Fate(StrEnum):
    """What a client sees of an answer."""

    ANSWERED = "answered"
    UNREACHABLE = "unreachable"
    RESET = "reset"
    HUNG = "hung"


class Reply(Struct, frozen=True):
    """What comes of a call: an answer or a watch, if its fate is to be answered."""

    fate: Fate
    answer: Response | Watch | None = None


class Gateway:
    """Carries calls to a server. While it is `down` nothing is reached; its watches are cut."""

    def __init__(self, server: KubernetesServer, faults: Faults | None = None) -> None:
        self.server = server
        self.faults = faults or Faults(server.cluster.random)
        self.calls = self.writes = 0
        self._down = False

    @property
    def down(self) -> bool:
        """Tell whether nothing is reached."""
        return self._down

    def take_down(self) -> None:
        """Let nothing be reached until `bring_up`."""
        self._down = True
        self.cut_watches()

    def bring_up(self) -> None:
        """End an outage."""
        self._down = False

    def cut_watches(self) -> None:
        """Break all watches off, as a load balancer does that is restarted."""
        for watch in self.server.watches:
            watch.break_off()

    def handle(self, request: HttpRequest) -> Reply:
        """Carry a call, with the fault that strikes it."""
        self.calls += 1
        self.writes += request.method in WRITES
        if self._down:
            return Reply(Fate.UNREACHABLE)
        fault = self.faults.strike(request)
        return Reply(Fate.RESET) if fault is Fault.RESET else self._struck(request, fault)

    def _struck(self, request: HttpRequest, fault: Fault | None) -> Reply:
        match fault:
            case None:
                return Reply(Fate.ANSWERED, self.server.handle(request))
            case Fault.REPLY_LOST | Fault.HUNG | Fault.TIMED_OUT:
                _end(self.server.handle(request))
                return _lost(fault)
            case Fault.CONFLICT:
                self._touch(request)
                return Reply(Fate.ANSWERED, self.server.handle(request))
            case Fault.WATCH_EXPIRED | Fault.WATCH_LATE | Fault.WATCH_BEHIND:
                return Reply(Fate.ANSWERED, self._troubled(request, fault))
            case _:
                return Reply(Fate.ANSWERED, _refused(request, fault))

    def delete_by_force(self, store: str, namespace: str, name: str) -> bool:
        """Remove an object whatever its finalizers say, as a person does; tell if it was there."""
        storage = self.server.cluster.storage
        item = storage.find(store, (namespace, name))
        if item is None:
            return False
        storage.remove(store, with_metadata(item, finalizers=None))
        self.server.settle()
        return True

    def _touch(self, request: HttpRequest) -> None:
        """Write the object that a call is about, as somebody else would."""
        cluster = self.server.cluster
        try:
            target = target_of(request.path)
        except NoPage:
            return
        kind = cluster.kinds.find(target.group, target.version, target.plural)
        if kind is None:
            return
        item = cluster.storage.find(kind.store, (target.namespace, target.name))
        if item is None:
            return
        annotations = mapping(metadata_of(item).get("annotations"))
        annotations = {**annotations, _TOUCHED: str(cluster.storage.revision)}
        cluster.storage.put(kind.store, with_metadata(item, annotations=annotations))
        self.server.settle()

    def _troubled(self, request: HttpRequest, fault: Fault) -> Response | Watch:
        answer = self.server.handle(request)
        if not isinstance(answer, Watch):
            return answer
        if fault is Fault.WATCH_EXPIRED:
            answer.expire(too_old(1, self.server.cluster.storage.revision))
        elif fault is Fault.WATCH_BEHIND:
            answer.fall_behind(self.faults.random.uniform(*BEHIND))
        else:
            answer.silent = True
            pause = self.faults.random.uniform(*LATE)
            asyncio.get_running_loop().call_later(pause, answer.wake)
        return answer


def _end(answer: Response | Watch) -> None:
    if isinstance(answer, Watch):
        answer.end()


def _lost(fault: Fault) -> Reply:
    if fault is Fault.HUNG:
        return Reply(Fate.HUNG)
    if fault is Fault.REPLY_LOST:
        return Reply(Fate.RESET)
    text = "Timeout: request did not complete within requested timeout - context deadline exceeded"
    return Reply(Fate.ANSWERED, _response(Refusal(504, "Timeout", text)))


def _refused(request: HttpRequest, fault: Fault) -> Response:
    about = About("", "objects", "Object", request.path.rsplit("/", 1)[-1])
    match fault:
        case Fault.UNAVAILABLE:
            return Response(status=503, body=b"<html>503 Service Unavailable</html>")
        case Fault.OVERLOADED:
            details: Body = {"retryAfterSeconds": 1}
            text = "Too many requests, please try again later."
            return _response(too_many(text, details), ("Retry-After", "1"))
        case Fault.WEBHOOK_REFUSES:
            why = 'admission webhook "policy.example.com" denied the request: not today'
            return _response(forbidden(about, why))
        case Fault.WEBHOOK_DOWN:
            why = (
                'failed calling webhook "policy.example.com": failed to call webhook: Post '
                '"https://policy.example.com/validate?timeout=10s": context deadline exceeded'
            )
            return _response(internal(why))
        case _:
            return _response(internal("etcdserver: leader changed"))


def _response(refusal: Refusal, *headers: tuple[str, str]) -> Response:
    return Response(
        status=refusal.code,
        headers=(("Content-Type", "application/json"), *headers),
        body=msgspec.json.encode(refusal.status()),
    )
