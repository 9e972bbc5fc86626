"""Reporting: one object that cannot be written keeps no other's status from being written."""

import asyncio
from collections import Counter
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

import pytest

from hostler.app.provider_registry import KINDS
from hostler.app.store_registry import STORES
from hostler.config.values import Config
from hostler.frontends.kubernetes.connecting import Connected
from hostler.frontends.kubernetes.fleets.events import EventRecorder
from hostler.frontends.kubernetes.fleets.reporting import Reported, Reporter
from hostler.frontends.kubernetes.fleets.source import Base, Source, Surroundings
from hostler.frontends.kubernetes.fleets.writing import REFUSED, Writer
from hostler.frontends.kubernetes.namespaces import Namespaces
from hostler.frontends.kubernetes.objects.models import Written
from hostler.frontends.kubernetes.objects.secrets import SecretPlaces
from hostler.kubernetes.errors import ApiError, Timeout, TooManyRequests, Unavailable
from hostler.kubernetes.objects import Metadata
from hostler.ports.store import Store
from hostler.stores.memory import MemoryStore
from hostler.testing.scenes.builders import HOME
from hostler.testing.time.clock import RigClock

NAMES = ("a", "b", "c")
WEBHOOK = Unavailable("failed calling webhook: connection refused", code=500, unknown=True)


class Objects:
    """Three fleets that hostler holds already."""

    def __init__(self) -> None:
        self.changed = asyncio.Event()

    def of(self, kind: str) -> tuple[Written, ...]:
        finalizers = ("hostler.dev/ends",)
        return tuple(
            Written(
                metadata=Metadata(name=name, namespace="home", uid=name, finalizers=finalizers),
                spec={"size": 0, "provider": "static"},
            )
            for name in NAMES
            if kind == "Fleet"
        )

    async def synced(self) -> None:
        return


@dataclass
class Client:
    """Takes statuses, but for those of objects about which the server breaks."""

    breaks: dict[str, ApiError] = field(default_factory=dict[str, ApiError])
    asked: Counter[str] = field(default_factory=Counter[str])

    async def apply(self, resource: object, item: Written, *_: object, **__: object) -> Written:
        del resource
        self.asked[item.metadata.name] += 1
        if item.metadata.name in self.breaks:
            raise self.breaks[item.metadata.name]
        return item

    async def create(self, *_: object) -> None:
        return


async def _opens(config: Config) -> None:
    del config


async def _as_it_is(config: Config, store: Store) -> Config:
    del store
    return config


async def reporter(folder: Path, client: Client, clock: RigClock) -> Reporter:
    """Return a reporter over the three fleets, on the account of a file."""
    objects = Objects()
    base = Base(
        path=folder / "home.toml",
        raw={"provider": {"static": {"hosts": [{"address": "127.0.0.1"}]}}},
        kinds=KINDS,
        stores=STORES,
    )
    around = Surroundings(
        cluster=Connected(client=client, namespace="home", origin="a test"),  # pyright: ignore[reportArgumentType] - no object names a Secret
        namespaces=Namespaces(home="home"),
        followed=objects,  # pyright: ignore[reportArgumentType] - what a source needs of it
        places=SecretPlaces(folder / "secrets", {}, b"salt"),
        opens=_opens,
        clock=clock,
    )
    source = Source(base, around)
    await source.first({})
    reported = Reported(
        followed=objects,  # pyright: ignore[reportArgumentType] - as above
        source=source,
        store=MemoryStore(HOME),
        clock=clock,
        leads=lambda: True,
        with_removed=_as_it_is,
    )
    events = EventRecorder(client, clock, "test")  # pyright: ignore[reportArgumentType] - what events need
    return Reporter(reported, Writer(client, clock, events))  # pyright: ignore[reportArgumentType] - what statuses need


@pytest.mark.parametrize(
    "error", [WEBHOOK, Timeout("the webhook did not answer", code=504)], ids=["500", "504"]
)
async def test_a_webhook_that_fails_for_one_object_keeps_no_other_from_being_written(
    tmp_path: Path, error: ApiError
) -> None:
    client, clock = Client({"a": error}), RigClock()
    one = await reporter(tmp_path, client, clock)
    await one.report()
    await one.report()
    assert client.asked == {"a": 1, "b": 1, "c": 1}, "and that one is left alone for a while"


async def test_an_object_is_written_once_the_server_takes_it_again(tmp_path: Path) -> None:
    client, clock = Client({"b": WEBHOOK}), RigClock()
    one = await reporter(tmp_path, client, clock)
    await one.report()
    client.breaks.clear()
    clock.pass_by(timedelta(seconds=REFUSED + 1))
    await one.report()
    assert client.asked["b"] == 2


@pytest.mark.parametrize(
    "error",
    [
        Unavailable("refused"),
        Unavailable("not ready", code=503),
        Timeout("no answer"),
        TooManyRequests("later", code=429),
    ],
    ids=["unreachable", "503", "no answer", "429"],
)
async def test_a_server_that_answers_nobody_is_not_asked_about_every_object(
    tmp_path: Path, error: ApiError
) -> None:
    client = Client(dict.fromkeys(NAMES, error))
    one = await reporter(tmp_path, client, RigClock())
    with pytest.raises(ApiError):
        await one.report()
    assert client.asked == {"a": 1}
