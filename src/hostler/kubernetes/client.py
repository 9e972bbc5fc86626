"""Client: the ten verbs of the API, each one call with a deadline, a typed answer or one error.

Nothing is tried again here, besides a list whose page expired on the way.
"""

import dataclasses
from collections.abc import AsyncGenerator
from contextlib import aclosing
from datetime import timedelta
from typing import Generic, TypeVar

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from .errors import ApiError, Expired, KindNotServed, NotFound, Unreadable
from .objects import HasMetadata, Key, Listing, M, key_of
from .refusals import Action, error_of
from .requests import EVERYTHING, Deletion, Patch, PatchKind, Query, Selection, Watching
from .resources import Resource
from .session import Answer, Call, Transport
from .watch import Bookmark, Event, error_text, lines, read_event

T = TypeVar("T")

PAGE = 500
_RESTARTS = 3
_STEPS = frozenset({".", ".."})
INSTALL = "hostler kubernetes install"


class _ListMeta(msgspec.Struct, frozen=True, rename="camel"):
    resource_version: str = ""
    continue_: str = msgspec.field(name="continue", default="")


class _Page(msgspec.Struct, Generic[M], frozen=True):
    metadata: _ListMeta
    items: list[M] | None


class _Versions(msgspec.Struct, frozen=True):
    class _Version(msgspec.Struct, frozen=True):
        version: str = ""

    versions: tuple[_Version, ...] = ()


class Client(Struct, frozen=True, kw_only=True):
    """Reads and writes objects of one API server; every call may raise an `ApiError`.

    `manager` owns the fields that are written; `deadline` bounds each call, a page of a list too.
    """

    session: Transport
    deadline: timedelta = timedelta(seconds=30)
    manager: str = field(default="hostler")

    def within(self, deadline: timedelta) -> "Client":
        """Return a client on the same connections whose calls have another deadline."""
        return replace(self, deadline=deadline)

    async def get(self, resource: Resource[M], key: Key, subresource: str = "") -> M:
        """Return an object, or NotFound."""
        action = Action(verb="get", resource=resource, key=key, subresource=subresource)
        answer = await self._send(action, Call(method="GET", path=_path(action)))
        return _object(action, resource.model, answer)

    async def list_all(
        self, resource: Resource[M], selection: Selection = EVERYTHING, limit: int = PAGE
    ) -> Listing[M]:
        """Return all objects as of one version, read in pages; an expired page starts it anew."""
        for _ in range(_RESTARTS):
            try:
                return await self._listed(resource, selection, limit)
            except Expired:
                continue
        return await self._listed(resource, selection, 0)

    async def create(self, resource: Resource[M], item: M, subresource: str = "") -> M:
        """Create an object, or what its subresource stands for, once; AlreadyExists else."""
        key = key_of(item)
        action = Action(verb="create", resource=resource, key=key, subresource=subresource)
        if subresource:
            path = _path(action)
        elif resource.namespaced and not key.namespace:
            raise ValueError(f"one of {resource.full_name} is created in a namespace")
        else:
            path = resource.collection(key.namespace)
        return await self._write(
            resource, action, Call(method="POST", path=path, body=_body(action, item))
        )

    async def replace(self, resource: Resource[M], item: M, subresource: str = "") -> M:
        """Replace the object that was read in this version; Conflict where somebody wrote since."""
        if not item.metadata.resource_version:
            raise ValueError(f"{resource.full_name} {key_of(item)}: replaced without its version")
        key = key_of(item)
        action = Action(verb="update", resource=resource, key=key, subresource=subresource)
        call = Call(method="PUT", path=_path(action), body=_body(action, item))
        return await self._write(resource, action, call)

    async def patch(
        self, resource: Resource[M], key: Key, patch: Patch, subresource: str = ""
    ) -> M:
        """Change an object that is there."""
        action = Action(verb="patch", resource=resource, key=key, subresource=subresource)
        body = msgspec.json.encode(patch.body)
        call = Call(method="PATCH", path=_path(action), body=body, content_type=patch.kind)
        return await self._write(resource, action, call)

    async def apply(
        self,
        resource: Resource[M],
        item: M,
        subresource: str = "",
        *,
        force: bool = False,
        dry_run: bool = False,
    ) -> M:
        """Apply what we want of an object, made where there is none; we own exactly these fields.

        Conflict where another manager owns one with another value; `force` takes it over. With
        `dry_run` the server judges, answers, and changes nothing.
        """
        key = key_of(item)
        action = Action(verb="patch", resource=resource, key=key, subresource=subresource)
        pairs = (("force", "true", force), ("dryRun", "All", dry_run))
        query = tuple((name, value) for name, value, asked in pairs if asked)
        call = Call(
            method="PATCH",
            path=_path(action),
            query=query,
            body=_body(action, item),
            content_type=PatchKind.APPLY,
        )
        return await self._write(resource, action, call)

    async def delete(
        self, resource: Resource[HasMetadata], key: Key, deletion: Deletion | None = None
    ) -> None:
        """Ask for an end, which finalizers may put off; NotFound, or Conflict with a condition."""
        action = Action(verb="delete", resource=resource, key=key)
        body = msgspec.json.encode((deletion or Deletion()).body())
        await self._send(action, Call(method="DELETE", path=_path(action), body=body))

    async def watch(
        self, resource: Resource[M], watching: Watching
    ) -> AsyncGenerator[Event[M] | Bookmark]:
        """Return changes as they come, until the server ends the watch or an error does.

        Expired, as an answer or as an event, asks to list again; a watch that breaks off can go
        on from the last version that was seen.
        """
        key = Key(watching.selection.namespace, "")
        action = Action(verb="watch", resource=resource, key=key)
        path = resource.collection(key.namespace)
        call = Call(method="GET", path=path, query=watching.query())
        async with self.session.streaming(call, self.deadline) as opened:
            if isinstance(opened, Answer):
                raise await self._refusal(action, opened)
            async with aclosing(lines(opened, watching.idle)) as whole:
                async for line in whole:
                    yield read_event(line, resource.model, action)

    async def _listed(self, resource: Resource[M], selection: Selection, limit: int) -> Listing[M]:
        action = Action(verb="list", resource=resource, key=Key(selection.namespace, ""))
        path, items, further = resource.collection(selection.namespace), list[M](), ""
        while True:
            pairs = (("limit", str(limit or "")), ("continue", further))
            query: Query = (*selection.query(), *(pair for pair in pairs if pair[1]))
            answer = await self._send(action, Call(method="GET", path=path, query=query))
            page = _decoded(action, _page_of(resource.model), answer)
            items += page.items or ()
            if not page.metadata.continue_:
                return Listing(tuple(items), page.metadata.resource_version)
            if page.metadata.continue_ == further:
                raise Unreadable(f"{action}: the server gives the same page for ever")
            further = page.metadata.continue_

    async def _write(self, resource: Resource[M], action: Action, call: Call) -> M:
        query = (*call.query, ("fieldManager", self.manager))
        answer = await self._send(action, dataclasses.replace(call, query=query))
        return _object(action, resource.model, answer)

    async def _send(self, action: Action, call: Call) -> Answer:
        answer = await self.session.send(call, self.deadline)
        if 200 <= answer.status < 300:
            return answer
        raise await self._refusal(action, answer)

    async def _refusal(self, action: Action, answer: Answer) -> ApiError:
        error = error_of(action, answer.status, answer.body, answer.retry_after)
        if isinstance(error, KindNotServed):
            return KindNotServed(await self._why_not_served(action), code=answer.status)
        return error

    async def _why_not_served(self, action: Action) -> str:
        """Return what is missing: the whole group, this version of it, or the kind in it."""
        resource = action.resource
        cure = (
            f"; install it with: {resource.installed_by or INSTALL}"
            if "." in resource.group
            else ""
        )
        absent = f"{action}: {resource.kind} is not installed in this cluster{cure}"
        try:
            answer = await self.session.send(
                Call(method="GET", path=resource.group_path), self.deadline
            )
            versions = msgspec.json.decode(answer.body, type=_Versions).versions
        except (ApiError, msgspec.DecodeError, UnicodeDecodeError):
            return absent
        served = [version.version for version in versions if version.version]
        if answer.status != 200 or not served or resource.version in served:
            return absent
        return (
            f"{action}: this cluster serves {resource.group} only as {', '.join(served)}, "
            f"not as {resource.version}{cure}"
        )


def _page_of(model: type[M]) -> type[_Page[M]]:
    """Return the type of a page of such objects, which exists at run time alone."""
    return _Page[model]


def _path(action: Action) -> str:
    """Return the path of an object; NotFound, unasked, where no object can have this name.

    A name may be what somebody wrote in another object, and `..` is a step in a path.
    """
    if action.key.name in _STEPS:
        raise NotFound(f"{action}: no object has this name")
    return action.resource.path(action.key, action.subresource)


def _body(action: Action, item: HasMetadata) -> bytes:
    """Return an object as JSON; models need not say which kind they are of."""
    resource = action.resource
    named = {"apiVersion": resource.api_version, "kind": resource.kind}
    return msgspec.json.encode({**named, **msgspec.to_builtins(item)})


def _object(action: Action, model: type[M], answer: Answer) -> M:
    item = _decoded(action, model, answer)
    name = item.metadata.name
    if action.key.name and name and name != action.key.name:
        raise Unreadable(f"{action}: the answer is about {name!r}", unknown=True)
    return item


def _decoded(action: Action, model: type[T], answer: Answer) -> T:
    try:
        return msgspec.json.decode(answer.body, type=model)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        text = f"{action}: an answer that cannot be read: {error_text(error)}"
        raise Unreadable(text, code=answer.status, unknown=True) from None
