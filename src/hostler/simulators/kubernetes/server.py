"""Server: requests in, answers and watches out; what happens in between is instant."""

from collections.abc import Callable
from random import Random

import msgspec
from msgspec import Struct

from hostler.ports.clock import Clock
from hostler.ports.http import HttpRequest, Response

from . import subresources
from .access import Access, Act, User
from .call import Call, decoded, target_of
from .controllers.budgets import Budgets
from .controllers.collector import Collector
from .controllers.definitions import Definitions
from .controllers.namespaces import Namespaces
from .controllers.workloads import Runner, Workloads
from .discovery import page
from .kinds.conversion import converted
from .kinds.registry import REVIEWS
from .reads.listings import Lists
from .reads.selectors import selected
from .reads.watches import Watch
from .reviews import reviewed
from .state.body import Body, is_mapping, mapping
from .state.cluster import Cluster, Options
from .state.refusals import NoPage, Refusal, bad_request, not_allowed, unauthorized
from .state.storage import Storage
from .writes import verbs
from .writes.deletion import delete, removed_status, terms_of

_OPTIONS = Options()
_VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}


class Answer(Struct, frozen=True):
    """A status and a JSON body."""

    status: int
    body: Body


class KubernetesServer:
    """An API server of Kubernetes, in memory, on a clock and a random stream.

    `handle` answers one request at once; a watch that it returns is read by who carries it.
    Without any token that was granted (`access`), everybody may do everything.
    """

    def __init__(self, clock: Clock, random: Random, options: Options = _OPTIONS) -> None:
        storage = Storage(options.window)
        self.cluster = Cluster(now=clock.now, random=random, options=options, storage=storage)
        self.access = Access(self.cluster)
        self.watches: list[Watch] = []
        self._lists = Lists(self.cluster)
        self._controllers: list[Callable[[], bool]] = [Definitions(self.cluster).settle]
        if options.controllers:
            self._controllers += [
                Collector(self.cluster).settle,
                Namespaces(self.cluster).settle,
                Budgets(self.cluster).settle,
            ]
        for name in options.namespaces:
            self._namespace(name)

    def handle(self, request: HttpRequest) -> Response | Watch:
        """Answer a request; never raises."""
        try:
            answer = self._answer(request)
        except NoPage:
            plain = (("Content-Type", "text/plain; charset=utf-8"),)
            return Response(status=404, headers=plain, body=b"404 page not found\n")
        except Refusal as refusal:
            answer = Answer(refusal.code, refusal.status())
        if isinstance(answer, Watch):
            self.watches = [one for one in self.watches if not one.ended]
            self.watches.append(answer)
            return answer
        return _response(answer)

    def run(self, workloads: Workloads) -> None:
        """Let Pods and Jobs go on from now on: without this none ever does."""
        Runner(self.cluster, workloads, self.settle)

    def settle(self) -> None:
        """Let the controllers do all that they have to."""
        while sum(step() for step in self._controllers):
            pass

    def _answer(self, request: HttpRequest) -> "Answer | Watch":
        authorization = next(
            (text for name, text in request.headers if name.lower() == "authorization"), ""
        )
        user = self.access.user(authorization)
        if user is None:
            raise unauthorized()
        if (found := page(self.cluster.kinds, request)) is not None:
            return Answer(200, found)
        target = target_of(request.path)
        if target.plural in REVIEWS and request.method == "POST":
            return self._review(request, target.plural, user)
        kind = self.cluster.kinds.find(target.group, target.version, target.plural)
        if kind is None or (target.namespace and not kind.namespaced):
            raise NoPage
        if target.subresource and target.subresource not in kind.subresources:
            raise NoPage
        call = Call(request=request, kind=kind, target=target, user=user.name)
        self.access.check(user, _act(call))
        answer = self._serve(call)
        self.settle()
        return answer

    def _review(self, request: HttpRequest, plural: str, user: User) -> Answer:
        body = decoded(request.body, "application/json")
        answered = reviewed(plural, mapping(body), user, self.access)
        if answered is None or not is_mapping(body):
            raise bad_request("a review is an object")
        return Answer(201, answered)

    def _serve(self, call: Call) -> "Answer | Watch":
        if call.target.subresource in subresources.OTHERS:
            return Answer(*subresources.answer(self.cluster, self.access, call))
        method, named = call.request.method, bool(call.target.name)
        if method == "GET" and not named:
            if call.flag("watch"):
                return Watch(self.cluster, call)
            return Answer(200, self._lists.answer(call))
        if method == "POST" and not named:
            self._check_place(call)
            return self._written(call, verbs.post(self.cluster, call))
        if method == "DELETE" and not named:
            return self._collection(call)
        return self._one(call) if named else _no_method()

    def _one(self, call: Call) -> Answer:
        match call.request.method:
            case "GET":
                return Answer(200, converted(call.kind, verbs.found(self.cluster, call)))
            case "PUT":
                return self._written(call, verbs.put(self.cluster, call))
            case "PATCH":
                return self._written(call, verbs.patch(self.cluster, call))
            case "DELETE" if not call.target.subresource:
                item = verbs.found(self.cluster, call)
                ended, after = delete(self.cluster, call.kind, item, terms_of(call))
                body = removed_status(call.kind, after) if ended else converted(call.kind, after)
                return Answer(200, body)
            case _:
                raise not_allowed()

    def _collection(self, call: Call) -> Answer:
        kind, terms = call.kind, terms_of(call)
        self._check_place(call)
        matches = selected(kind, call.text("labelSelector"), call.text("fieldSelector"))
        listed = self._lists.answer(call)
        for item in self.cluster.storage.everything(kind.store, call.target.namespace):
            if matches(item):
                delete(self.cluster, kind, item, terms)
        return Answer(200, listed)

    def _check_place(self, call: Call) -> None:
        if call.kind.namespaced and not call.target.namespace:
            raise not_allowed()

    def _written(self, call: Call, written: tuple[int, Body]) -> Answer:
        return Answer(written[0], converted(call.kind, written[1]))

    def _namespace(self, name: str) -> None:
        body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        request = HttpRequest(
            method="POST", path="/api/v1/namespaces", body=msgspec.json.encode(body)
        )
        self.handle(request)


def _no_method() -> Answer:
    raise not_allowed()


def _act(call: Call) -> Act:
    target, kind = call.target, call.kind
    verb = _VERBS.get(call.request.method)
    if verb is None:
        listed = "watch" if call.flag("watch") else "list"
        verb = "get" if target.name else listed
    elif verb == "delete" and not target.name:
        verb = "deletecollection"
    return Act(
        verb=verb,
        group=kind.group,
        plural=kind.plural,
        subresource=target.subresource,
        namespace=target.namespace,
        name=target.name,
    )


def _response(answer: Answer) -> Response:
    headers = [("Content-Type", "application/json")]
    seconds = mapping(answer.body.get("details")).get("retryAfterSeconds")
    if answer.status >= 400 and seconds:
        headers.append(("Retry-After", str(seconds)))
    return Response(
        status=answer.status, headers=tuple(headers), body=msgspec.json.encode(answer.body)
    )
