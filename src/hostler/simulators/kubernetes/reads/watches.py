"""Watches: changes as they happen, from a version on or with all that is there first."""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Callable

import msgspec
from msgspec import Struct

from hostler.simulators.kubernetes.call import Call
from hostler.simulators.kubernetes.kinds.conversion import converted
from hostler.simulators.kubernetes.state.body import Body, with_metadata
from hostler.simulators.kubernetes.state.cluster import Cluster
from hostler.simulators.kubernetes.state.refusals import (
    Cause,
    Refusal,
    bad_request,
    too_old,
)
from hostler.simulators.kubernetes.state.storage import Change

from .selectors import selected

LONGEST = 1800.0
INITIAL_END = "k8s.io/initial-events-end"
_TICK = 0.001
"""How exact the time of a loop is, in seconds."""
Ended = Callable[["Watch"], None]


class _Frame(Struct, frozen=True):
    """One line of a watch, and from when on it is delivered, by the time of the loop."""

    due: float
    line: bytes


class Watch:
    """One watch. Its frames are lines of JSON; it ends by its time, an error, or `end`."""

    def __init__(self, cluster: Cluster, call: Call) -> None:
        self._cluster, self.call = cluster, call
        self._matches = selected(call.kind, call.text("labelSelector"), call.text("fieldSelector"))
        self._frames: deque[_Frame] = deque()
        self._wake = asyncio.Event()
        self._ended = False
        self.cut = False
        self.silent = False
        self._behind = 0.0
        self._bookmarks = call.flag("allowWatchBookmarks")
        self._start()

    @property
    def ended(self) -> bool:
        """Tell whether nothing comes any more."""
        return self._ended

    async def frames(self) -> AsyncGenerator[bytes]:
        """Return lines as they come, until the watch ends; ended by `break_off`, `cut` is set."""
        loop = asyncio.get_running_loop()
        end = loop.time() + (self.call.number("timeoutSeconds") or LONGEST)
        bookmark = loop.time() + self._cluster.options.bookmarks
        try:
            while True:
                while (
                    self._frames and not self.silent and self._frames[0].due <= loop.time() + _TICK
                ):
                    yield self._frames.popleft().line
                if self._ended:
                    return
                self._wake.clear()
                due = self._frames[0].due if self._frames and not self.silent else end
                try:
                    async with asyncio.timeout_at(min(end, bookmark, due)):
                        await self._wake.wait()
                except TimeoutError:
                    now = loop.time() + _TICK
                    if now >= end:
                        self._ended = True
                    if now >= min(end, bookmark):
                        self._bookmark()
                        bookmark = loop.time() + self._cluster.options.bookmarks
        finally:
            self.end()

    def end(self) -> None:
        """End the watch politely, after what it still has."""
        self._ended = True
        if self._take in self._cluster.storage.listeners:
            self._cluster.storage.listeners.remove(self._take)
        self._wake.set()

    def break_off(self) -> None:
        """End the watch in the middle, as a connection that breaks."""
        self._frames.clear()
        self.cut = True
        self.end()

    def fail(self, refusal: Refusal) -> None:
        """End the watch by an ERROR event."""
        self._push("ERROR", refusal.status())
        self.end()

    def expire(self, refusal: Refusal) -> None:
        """End the watch by an ERROR event, before anything else of it."""
        self._frames.clear()
        self.fail(refusal)

    def fall_behind(self, seconds: float) -> None:
        """Let each event come so much later, from now on."""
        self._behind = seconds

    def wake(self) -> None:
        """Go on after silence."""
        self.silent = False
        self._wake.set()

    def _start(self) -> None:
        call, storage = self.call, self._cluster.storage
        version = call.text("resourceVersion")
        if version and not version.isdigit():
            raise bad_request(f'Invalid value: "{version}": a resource version is a number')
        initial = self._initial()
        storage.listeners.append(self._take)
        if initial or version in {"", "0"}:
            for item in storage.everything(call.kind.store, call.target.namespace):
                if self._matches(item):
                    self._push("ADDED", converted(call.kind, item))
            if initial:
                self._bookmark(last=True)
            return
        oldest = max(storage.compacted, call.kind.since)
        if int(version) < oldest:
            self.fail(too_old(int(version), oldest))
            return
        for change in storage.since(call.kind.store, int(version)):
            self._take(change)

    def _initial(self) -> bool:
        """Tell whether all that is there comes first, and its end is said."""
        call = self.call
        text = call.text("sendInitialEvents")
        match = call.text("resourceVersionMatch")
        if not text:
            if match:
                why = "Forbidden: resourceVersionMatch is forbidden for watch unless "
                raise _options("resourceVersionMatch", why + "sendInitialEvents is provided")
            return False
        if not self._cluster.options.streaming_lists:
            why = "Forbidden: sendInitialEvents is forbidden for watch unless the WatchList "
            raise _options("sendInitialEvents", why + "feature gate is enabled")
        if match != "NotOlderThan":
            why = "Forbidden: sendInitialEvents requires setting resourceVersionMatch to "
            raise _options("resourceVersionMatch", why + "NotOlderThan")
        return call.flag("sendInitialEvents")

    def _take(self, change: Change) -> None:
        call = self.call
        namespace = call.target.namespace
        item = change.item
        if change.store != call.kind.store:
            return
        if namespace and item["metadata"].get("namespace") != namespace:
            return
        before = change.before is not None and self._matches(change.before)
        now = not change.deleted and self._matches(item)
        if now:
            self._push("MODIFIED" if before else "ADDED", converted(call.kind, item))
        elif before:
            last = item if change.deleted else change.before or item
            last = with_metadata(last, resourceVersion=str(change.revision))
            self._push("DELETED", converted(call.kind, last))

    def _bookmark(self, *, last: bool = False) -> None:
        if not self._bookmarks and not last:
            return
        metadata: Body = {
            "resourceVersion": str(self._cluster.storage.revision),
            "creationTimestamp": None,
        }
        if last:
            metadata["annotations"] = {INITIAL_END: "true"}
        kind = self.call.kind
        body: Body = {"kind": kind.kind, "apiVersion": kind.api_version, "metadata": metadata}
        self._push("BOOKMARK", body)

    def _push(self, event: str, item: Body) -> None:
        if self._ended:
            return
        line = msgspec.json.encode({"type": event, "object": item}) + b"\n"
        due = asyncio.get_running_loop().time() + self._behind if self._behind else 0.0
        self._frames.append(_Frame(due, line))
        self._wake.set()


def _options(field: str, message: str) -> Refusal:
    text = f'ListOptions.meta.k8s.io "" is invalid: {field}: {message}'
    cause = Cause(field, "FieldValueForbidden", message)
    causes = [{"reason": cause.reason, "message": cause.message, "field": cause.field}]
    details: Body = {"group": "meta.k8s.io", "kind": "ListOptions", "causes": causes}
    return Refusal(422, "Invalid", text, details)
