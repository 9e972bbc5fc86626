"""The suite: every check by its name, and what a server needs before them."""

from collections.abc import Awaitable, Callable
from inspect import iscoroutinefunction
from types import ModuleType

from . import applying, builtin, controlled, creation, deleting, listing, patching, rules, watching
from .kinds import definition
from .peer import GROUP, Peer, fresh, until

Check = Callable[[Peer], Awaitable[None]]


def _checks(module: ModuleType) -> tuple[Check, ...]:
    """Return what a module's own public coroutine functions check."""
    return tuple(
        value
        for name, value in vars(module).items()
        if iscoroutinefunction(value)
        and value.__module__ == module.__name__
        and not name.startswith("_")
    )


CHECKS: tuple[Check, ...] = tuple(
    check
    for module in (creation, patching, applying, deleting, listing, watching, builtin)
    for check in _checks(module)
)
"""What an API server does by itself."""

RULES: tuple[Check, ...] = _checks(rules)
"""What definitions say in CEL."""

CONTROLLED: tuple[Check, ...] = _checks(controlled)
"""What needs the controllers beside it."""


async def install(peer: Peer) -> None:
    """Define the kind of the checks, and wait until it is served."""
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    answer = await peer.call("POST", path, definition())
    if answer.status != 201 and answer.reason != "AlreadyExists":
        raise AssertionError(answer.text)
    served = f"/apis/{GROUP}/v1/boxes"
    await until(peer, served, lambda answer: answer.status == 200, "the kind is not served")


async def with_namespace(peer: Peer) -> Peer:
    """Return the peer in a new namespace of its own."""
    name = fresh("conformance")
    body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    answer = await peer.call("POST", "/api/v1/namespaces", body)
    if answer.status != 201:
        raise AssertionError(answer.text)
    return Peer(peer.session, peer.url, peer.token, name)
