"""The file beside objects is read again on demand: taken whole, or refused and nothing moves."""

import asyncio
import base64
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from hostler.app.clock import SystemClock
from hostler.app.kubernetes.beside import Beside, base_of
from hostler.app.lending import Own
from hostler.config.digests import differing, digests
from hostler.config.errors import Fault
from hostler.config.values import Config
from hostler.domain.errors import ConfigError, StoreError
from hostler.frontends.cli.context import ClusterOptions
from hostler.frontends.kubernetes.connecting import Connected
from hostler.frontends.kubernetes.fleets.judging import Opens
from hostler.frontends.kubernetes.fleets.source import Source, Surroundings
from hostler.frontends.kubernetes.fleets.writing import FINALIZER
from hostler.frontends.kubernetes.namespaces import Namespaces
from hostler.frontends.kubernetes.objects.assembly import PROVIDER, Place
from hostler.frontends.kubernetes.objects.models import Fields, StoredSecret, Written
from hostler.frontends.kubernetes.objects.secrets import SecretPlaces
from hostler.kubernetes.errors import Unavailable
from hostler.kubernetes.objects import Key, Metadata
from hostler.ports.kind import table_of
from hostler.providers.scaleway.common.config_tables import AccountTable

STATIC = '[provider.static]\nhosts = [{address = "127.0.0.1"}, {address = "127.0.0.2"}]\n'
BOXES = f"{STATIC}[fleet.boxes]\nsize = 0\n"


@dataclass
class Objects:
    """Objects of a cluster, as they are followed."""

    found: dict[str, list[Written]] = field(default_factory=dict[str, list[Written]])
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    fault: ConfigError | None = None

    def write(self, what: str, namespace: str, name: str, /, **spec: object) -> None:
        metadata = Metadata(name=name, namespace=namespace, generation=1, finalizers=(FINALIZER,))
        others = [o for o in self.found.get(what, []) if o.metadata.name != name]
        self.found[what] = [*others, Written(metadata=metadata, spec=spec)]

    def of(self, kind: str) -> tuple[Written, ...]:
        fault, self.fault = self.fault, None
        if fault is not None:
            raise fault
        return tuple(self.found.get(kind, ()))

    async def synced(self) -> None:
        return


@dataclass
class Secrets:
    """The Secrets of a cluster, all with one key; about those that are broken the server breaks."""

    broken: set[str] = field(default_factory=set[str])
    authority: bytes = b"an authority"

    async def get(self, _: object, key: Key) -> StoredSecret:
        if key.name in self.broken:
            raise Unavailable("no key is found to decrypt it with", code=500, unknown=True)
        values = {"SCW_SECRET_KEY": b"secret", "ca": self.authority}
        data = {name: base64.b64encode(value).decode() for name, value in values.items()}
        return StoredSecret(metadata=Metadata(name=key.name), data=data)


@dataclass
class Site:
    """A file, objects beside it, and what is made of both."""

    folder: Path
    secrets: Secrets = field(default_factory=Secrets)
    objects: Objects = field(default_factory=Objects)
    lent: list[Own] = field(default_factory=list[Own])

    def file(self, text: str) -> Path:
        path = self.folder / "engine.toml"
        path.write_text(text)
        return path

    async def begin(self, text: str | None, opens: Opens | None = None) -> tuple[Beside, Source]:
        """Start with a file, or with none."""
        options = ClusterOptions(file=None if text is None else self.file(text), state=self.folder)
        base = base_of(options, "home", {})
        around = Surroundings(
            cluster=Connected(client=self.secrets, namespace="home", origin="a test"),  # pyright: ignore[reportArgumentType] - what a source needs of it
            namespaces=Namespaces(home="home", others=("team",)),
            followed=self.objects,  # pyright: ignore[reportArgumentType] - what a source needs of it
            places=SecretPlaces(self.folder / "secrets", {}, b"salt"),
            opens=opens or _opens,
            leaves=_leaves,
            clock=SystemClock(),
        )
        source = Source(base, around)
        await source.first({})
        return Beside(base, source, self.lent.append), source


async def _opens(config: Config) -> None:
    del config


async def _leaves(config: Config) -> tuple[Fault, ...]:
    del config
    return ()


def fleets(config: Config) -> dict[str, int]:
    return {str(fleet.name): fleet.size for fleet in config.fleets}


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


async def until(holds: Callable[[], bool]) -> None:
    for _ in range(1000):
        if holds():
            return
        await asyncio.sleep(0.01)
    raise AssertionError("it does not come to hold")


async def refused(beside: Beside, source: Source) -> str:
    """Read the file again, which is refused; all must be as it was."""
    before = source.config()
    with pytest.raises(ConfigError) as error:
        await beside.read(file=True)
    beside.refuse()
    assert not differing(digests(before), digests(source.config()))
    assert not differing(digests(before), digests(await beside.read(file=False)))
    return str(error.value)


async def test_the_fleets_of_the_file_are_exchanged_and_those_of_objects_stay(site: Site) -> None:
    site.objects.write("Fleet", "home", "mine", size=0, provider="static")
    beside, source = await site.begin(BOXES)
    before = digests(source.config())
    site.file(f"{STATIC}[fleet.others]\nsize = 1\n")
    after = await beside.read(file=True)
    assert fleets(after) == {"others": 1, "mine": 0}
    assert differing(before, digests(after)) == ("fleet.boxes", "fleet.others")
    assert beside.objects() == ("fleet.mine",)


async def test_the_file_is_read_when_somebody_asks_for_that_and_not_otherwise(site: Site) -> None:
    beside, _ = await site.begin(BOXES)
    site.file(f"{STATIC}[fleet.others]\nsize = 1\n")
    assert fleets(await beside.read(file=False)) == {"boxes": 0}
    assert fleets(await beside.read(file=True)) == {"others": 1}


async def test_an_engine_without_a_file_reads_none(site: Site) -> None:
    beside, _ = await site.begin(None)
    (site.folder / "home.toml").write_text(BOXES)
    assert fleets(await beside.read(file=True)) == {}


async def test_a_name_that_an_object_has_refuses_the_whole_file_and_names_both(site: Site) -> None:
    site.objects.write("Fleet", "home", "web", size=0, provider="static")
    beside, source = await site.begin(BOXES)
    site.file(f"{STATIC}[fleet.boxes]\nsize = 1\n[fleet.web]\nsize = 0\n")
    text = await refused(beside, source)
    assert text == (
        "[fleet.web] has the name of Fleet home/web, an object that is run: rename one of the two"
    )
    assert fleets(source.config()) == {"boxes": 0, "web": 0}


async def test_fleets_of_the_file_that_name_no_provider_keep_theirs_beside_objects(
    site: Site,
) -> None:
    """Whoever may write a Provider must not be able to make the file a wrong one."""
    site.objects.write("Provider", "home", "more", kind="static", static={})
    site.objects.write("Host", "home", "a", provider="more", static={"address": "127.0.0.9"})
    _, source = await site.begin(BOXES)
    (fleet,) = source.config().fleets
    assert str(fleet.account) == "static"
    assert all(verdict.accepted for verdict in source.judged.assembly.verdicts.values())


async def test_an_object_gives_way_to_a_fleet_of_the_file(site: Site) -> None:
    """Sizes of one account are judged together."""
    site.objects.write("Fleet", "home", "big", size=2, provider="static")
    _, source = await site.begin(f"{STATIC}[fleet.boxes]\nsize = 1\n")
    assert fleets(source.config()) == {"boxes": 1}
    (verdict,) = source.judged.assembly.verdicts.values()
    assert "1 are lacking" in verdict.message


async def test_a_reading_that_fails_ends_nothing(site: Site) -> None:
    _, source = await site.begin(BOXES)
    running = asyncio.get_running_loop().create_task(source.run())
    site.objects.fault = ConfigError("nobody can read this")
    site.objects.changed.set()
    await until(lambda: site.objects.fault is None)
    site.objects.write("Fleet", "home", "mine", size=0, provider="static")
    site.objects.changed.set()
    await until(lambda: running.done() or "mine" in fleets(source.config()))
    assert not running.done()
    running.cancel()


async def test_who_could_not_hear_of_a_configuration_hears_of_it_later(site: Site) -> None:
    """Whoever hears of it may need the store first, which may be busy."""
    _, source = await site.begin(BOXES)
    heard = list[dict[str, int]]()

    async def hear() -> None:
        heard.append(fleets(source.config()))
        if len(heard) == 1:
            raise StoreError("the database is locked")

    source.on_new = hear
    running = asyncio.get_running_loop().create_task(source.run())
    site.objects.write("Fleet", "home", "mine", size=0, provider="static")
    site.objects.changed.set()
    await until(lambda: len(heard) == 1)
    await until(lambda: running.done() or not site.objects.changed.is_set())
    site.objects.changed.set()
    await until(lambda: running.done() or len(heard) == 2)
    assert not running.done()
    running.cancel()
    assert heard[1] == {"boxes": 0, "mine": 0}


async def test_an_object_that_came_with_a_refused_file_is_heard_of_all_the_same(
    site: Site,
) -> None:
    site.objects.write("Fleet", "home", "web", size=0, provider="static")
    beside, source = await site.begin(BOXES)
    heard = list[dict[str, int]]()

    async def hear() -> None:
        heard.append(fleets(source.config()))

    source.on_new = hear
    site.objects.write("Fleet", "home", "mine", size=0, provider="static")
    site.file(f"{BOXES}[fleet.web]\nsize = 0\n")
    with pytest.raises(ConfigError, match="has the name of Fleet home/web"):
        await beside.read(file=True)
    beside.refuse()
    running = asyncio.get_running_loop().create_task(source.run())
    await until(lambda: bool(heard))
    running.cancel()
    assert heard == [{"boxes": 0, "mine": 0, "web": 0}]


async def test_what_objects_say_and_could_not_be_run_is_heard_of_again(site: Site) -> None:
    """Who opens its accounts may need the store, or the network, which may be away."""
    beside, source = await site.begin(BOXES)
    heard = list[dict[str, int]]()

    async def hear() -> None:
        heard.append(fleets(source.config()))

    source.on_new = hear
    running = asyncio.get_running_loop().create_task(source.run())
    site.objects.write("Fleet", "home", "mine", size=0, provider="static")
    site.objects.changed.set()
    await until(lambda: len(heard) == 1)
    await beside.read(file=False)
    beside.refuse()
    site.objects.changed.set()  # as after a minute
    await until(lambda: len(heard) == 2)
    running.cancel()
    assert heard == [{"boxes": 0, "mine": 0}] * 2


CLOUD: Fields = {
    "kind": "scaleway",
    "secretName": "cloud",
    "scaleway": {"project": "22222222-2222-2222-2222-222222222222"},
}


async def test_a_secret_that_the_server_cannot_read_refuses_its_object_alone(site: Site) -> None:
    site.secrets.broken.add("cloud")
    site.objects.write("Provider", "home", "cloud", **CLOUD)
    site.objects.write("Fleet", "home", "mine", size=0, provider="static")
    _, source = await site.begin(BOXES)
    assert fleets(source.config()) == {"boxes": 0, "mine": 0}
    verdict = source.judged.assembly.verdicts[Place(PROVIDER, "cloud")]
    assert "the Secret cloud cannot be read: no key is found" in verdict.message


async def test_a_secret_that_the_server_cannot_read_any_more_stays_as_it_was(site: Site) -> None:
    site.objects.write("Provider", "home", "cloud", **CLOUD)
    _, source = await site.begin(BOXES)
    running = asyncio.get_running_loop().create_task(source.run())
    site.secrets.broken.add("cloud")
    site.objects.write("Fleet", "home", "mine", size=0, provider="static")
    site.objects.changed.set()
    await until(lambda: running.done() or "mine" in fleets(source.config()))
    assert not running.done()
    running.cancel()
    assert source.judged.assembly.verdicts[Place(PROVIDER, "cloud")].accepted


async def test_the_name_of_a_fleet_of_another_namespace_is_no_clash(site: Site) -> None:
    site.objects.write("Provider", "team", "static", kind="static", static={})
    site.objects.write("Host", "team", "a", provider="static", static={"address": "127.0.0.9"})
    site.objects.write("Fleet", "team", "web", size=0, provider="static")
    beside, source = await site.begin(BOXES)
    assert fleets(source.config()) == {"boxes": 0, "team_web": 0}
    site.file(f"{STATIC}[fleet.web]\nsize = 0\n")
    assert fleets(await beside.read(file=True)) == {"web": 0, "team_web": 0}


async def test_a_provider_that_a_fleet_of_an_object_needs_is_not_taken_away(site: Site) -> None:
    site.objects.write("Fleet", "home", "mine", size=0, provider="static")
    beside, source = await site.begin(BOXES)
    site.file('[provider.other]\nkind = "static"\nhosts = [{address = "127.0.0.3"}]\n')
    text = await refused(beside, source)
    assert text.startswith("Fleet home/mine, an object that is run, could not stay so beside this")
    assert "spec.provider" in text


async def test_a_file_that_is_wrong_is_refused_whole(site: Site) -> None:
    beside, source = await site.begin(BOXES)
    for text in (
        f"{STATIC}[fleet.boxes]\nsize = -1\n",
        "a = [",
        f"{STATIC}[fleet.team_a]\nsize = 0\n",
    ):
        site.file(text)
        assert await refused(beside, source)


# ---------------------------------------------------------------- what the file lends


def allowing(*images: str) -> str:
    return f"[frontend.kubernetes.allow]\nimages = {list(images)!r}\n".replace("'", '"')


def switched(image: str) -> Fields:
    job: Mapping[str, object] = {"node": "a", "on": {"image": image}}
    return {
        "address": "10.0.0.1",
        "reachability": {"address": "10.0.0.1", "offAfter": "2m"},
        "job": job,
    }


async def test_what_the_file_allows_counts_for_objects_at_once(site: Site) -> None:
    site.objects.write("Provider", "home", "rack", kind="power", power={})
    site.objects.write("Host", "home", "tower", provider="rack", power=switched("wol:1"))
    beside, source = await site.begin(BOXES)
    assert not source.judged.hosts["tower"].accepted
    site.file(f"{BOXES}{allowing('wol:1')}")
    await beside.read(file=True)
    assert source.judged.hosts["tower"].accepted, source.judged.hosts["tower"].message


async def test_what_a_running_object_needs_allowed_is_not_taken_from_it(site: Site) -> None:
    site.objects.write("Provider", "home", "rack", kind="power", power={})
    site.objects.write("Host", "home", "tower", provider="rack", power=switched("wol:1"))
    beside, source = await site.begin(f"{BOXES}{allowing('wol:1')}")
    site.file(f"{BOXES}{allowing('wol:2')}")
    text = await refused(beside, source)
    assert "Host home/tower, an object that is run, could not stay so beside this file" in text
    assert "wol:2" in text


async def test_reclaim_at_the_top_counts_for_objects_that_do_not_say_it(site: Site) -> None:
    site.objects.write("Fleet", "home", "mine", size=0, provider="static")
    site.objects.write("Fleet", "home", "own", size=0, provider="static", reclaim=False)
    beside, source = await site.begin(BOXES)
    assert not source.config().fleet("mine").reclaim
    site.file(f"reclaim = true\n{BOXES}")
    config = await beside.read(file=True)
    assert [config.fleet(name).reclaim for name in ("boxes", "mine", "own")] == [True, True, False]


async def test_keys_are_lent_to_what_stands_in_the_file_now(site: Site) -> None:
    beside, _ = await site.begin(BOXES)
    site.file(f"{STATIC}[fleet.others]\nsize = 0\n")
    await beside.read(file=True)
    assert site.lent == [Own(accounts=frozenset({"static"}), fleets=frozenset({"others"}))]
    beside.refuse()
    assert site.lent[-1] == Own(accounts=frozenset({"static"}), fleets=frozenset({"boxes"}))


async def test_fleets_of_the_file_are_lent_to_all_namespaces_as_it_says_now(site: Site) -> None:
    site.objects.write("Fleet", "home", "mine", size=0, provider="static")
    beside, source = await site.begin(BOXES)
    assert source.lent() == set()
    site.file(f'{BOXES}[frontend.kubernetes.allow]\nfleets = ["boxes", "mine"]\n')
    await beside.read(file=True)
    assert source.lent() == {"boxes"}, "and not the fleet of an object"


async def test_a_file_that_could_not_be_opened_is_not_read_any_more(site: Site) -> None:
    """Its accounts are opened by who runs the engine: what that refuses is undone here."""
    beside, source = await site.begin(BOXES)
    site.file(f"{STATIC}[fleet.others]\nsize = 1\n")
    await beside.read(file=True)
    beside.refuse()
    assert fleets(source.config()) == {"boxes": 0}
    assert site.objects.changed.is_set(), "objects that changed meanwhile are read again"
    beside.refuse()
    assert fleets(source.config()) == {"boxes": 0}


async def test_what_secrets_were_before_is_removed_once_all_is_run(site: Site) -> None:
    """And not what an object that is refused by now still has in force."""
    project = "22222222-2222-2222-2222-222222222222"
    for name in ("one", "two"):
        own = {"project": project, "caFile": "ca"}
        site.objects.write("Provider", "home", name, kind="scaleway", secretName=name, scaleway=own)
    beside, source = await site.begin(None)
    earlier, folder = source.config(), site.folder / "secrets"
    (first, second) = sorted(folder.rglob("ca"))
    site.secrets.authority = b"another one"
    wrong = {"project": "no project", "caFile": "ca"}
    site.objects.write("Provider", "home", "two", kind="scaleway", secretName="two", scaleway=wrong)
    running = asyncio.get_running_loop().create_task(source.run())
    site.objects.changed.set()
    await until(lambda: len(list(folder.rglob("ca"))) == 4)  # an engine may use the old ones still
    await until(lambda: not site.objects.changed.is_set())
    running.cancel()
    await beside.began(earlier)
    assert len(list(folder.rglob("ca"))) == 4, "what it runs is not what is in force any more"
    await beside.began(source.config())
    third = next(path for path in folder.rglob("ca") if path != second)
    assert sorted(folder.rglob("ca")) == sorted([second, third])
    assert (second.read_bytes(), third.read_bytes()) == (b"an authority", b"another one")
    assert not first.exists()


async def test_what_is_wrong_with_a_secret_is_told_by_its_key(site: Site) -> None:
    """Who wrote it knows neither our variables nor our files."""

    async def opens(config: Config) -> None:
        settings = table_of(AccountTable, config.accounts[0].settings)
        env, file = settings.secret_key_env, settings.ca_file
        raise ConfigError(f"the environment variable {env} holds no key: set {env}; {file}: empty")

    own = {
        "project": "22222222-2222-2222-2222-222222222222",
        "secretKeyEnv": "SCW_SECRET_KEY",
        "caFile": "ca",
    }
    site.objects.write(
        "Provider", "home", "cloud", kind="scaleway", secretName="cloud", scaleway=own
    )
    _, source = await site.begin(None, opens)
    key = "the key SCW_SECRET_KEY of the Secret cloud"
    message = source.judged.assembly.verdicts[Place(PROVIDER, "cloud")].message
    assert message == f"{key} holds no key: set {key}; the key ca of the Secret cloud: empty"
