"""Objects read as tables: each judged by itself, and what was right before stays in force."""

import dataclasses
import errno
from collections.abc import Mapping
from pathlib import Path

import pytest
from msgspec.structs import replace

from hostler.app.provider_registry import KINDS
from hostler.app.store_registry import STORES
from hostler.config.decode import Raw
from hostler.config.values import Config, WrongFile
from hostler.domain.errors import ConfigError
from hostler.domain.ids import FleetName
from hostler.domain.model.fleet import OnRemove
from hostler.frontends.kubernetes.namespaces import Namespaces
from hostler.frontends.kubernetes.objects.assembly import (
    FLEET,
    PROVIDER,
    Assembler,
    Assembly,
    Place,
    Reason,
    Verdict,
)
from hostler.frontends.kubernetes.objects.candidates import Candidates, Objects
from hostler.frontends.kubernetes.objects.host_entries import HostPlace, table_list
from hostler.frontends.kubernetes.objects.models import Written
from hostler.frontends.kubernetes.objects.secrets import SecretData, SecretPlaces
from hostler.kubernetes.objects import Metadata
from hostler.providers.scaleway.common.config_tables import AccountTable

PROJECT = "22222222-2222-2222-2222-222222222222"
CLOUD = {"kind": "scaleway", "secretName": "cloud", "scaleway": {"project": PROJECT}}
WEB = {"size": 2, "provider": "cloud", "scaleway": {"types": ["DEV1-S"]}}
SECRET = SecretData(name="cloud", values={"SCW_SECRET_KEY": b"very-secret\n", "init": b"#cloud"})
WEB_PLACE, CLOUD_PLACE = Place(FLEET, "web"), Place(PROVIDER, "cloud")
HOME = Namespaces(home="ns")


def an_object(name: str, spec: Mapping[str, object]) -> Written:
    return Written(metadata=Metadata(name=name, namespace="ns"), spec=spec)


class Namespace:
    """Objects that are written, and what is in force of them."""

    def __init__(self, folder: Path, base: Raw | None = None) -> None:
        self.folder, self.base = folder, base or {}
        self.variables = dict[str, str]()
        self.places = SecretPlaces(folder / "secrets", self.variables, b"salt")
        self.objects = Objects(providers=(), fleets=(), hosts=(), secrets={"cloud": SECRET})
        self.force: Mapping[Place, Raw] = {}
        self.recorded = frozenset[HostPlace]()
        self.refused: Mapping[HostPlace, str] = {}

    def write(self, **objects: Mapping[str, Mapping[str, object]]) -> "Namespace":
        """Have these objects of some kinds, in place of those that were."""
        made = {
            kind: tuple(an_object(name, spec) for name, spec in found.items())
            for kind, found in objects.items()
        }
        self.objects = replace(self.objects, **made)
        return self

    def making(self) -> Candidates:
        return Candidates(
            namespaces=HOME,
            kinds=KINDS,
            base=self.base,
            places=self.places,
            recorded=self.recorded,
            refused=self.refused,
        )

    def verdicts(self) -> Mapping[str, Verdict]:
        """Return what is told of the hosts of the rack."""
        return self.making().of(self.objects, self.force)[RACK_PLACE].hosts

    def judged(self) -> Assembly:
        path = self.folder / "ns.toml"
        assembler = Assembler(
            namespaces=HOME, path=path, base=self.base, kinds=KINDS, stores=STORES
        )
        assembly = assembler.assemble(self.making().of(self.objects, self.force), self.force)
        self.force = assembly.tables
        return assembly


@pytest.fixture
def namespace(tmp_path: Path) -> Namespace:
    return Namespace(tmp_path).write(providers={"cloud": CLOUD}, fleets={"web": WEB})


def names(config: Config) -> set[str]:
    return {str(fleet.name) for fleet in config.fleets}


def test_an_empty_namespace_is_a_configuration_without_fleets(tmp_path: Path) -> None:
    config = Namespace(tmp_path).judged().config
    assert (config.fleets, config.accounts) == ((), ())


def test_objects_are_what_the_tables_of_a_file_are(namespace: Namespace) -> None:
    assembly = namespace.judged()
    (fleet,) = assembly.config.fleets
    assert (str(fleet.name), str(fleet.account), fleet.size) == ("web", "cloud", 2)
    assert {verdict.reason for verdict in assembly.verdicts.values()} == {Reason.ACCEPTED}
    assert fleet.on_remove is OnRemove.KEEP, "an object that is gone by force ends nothing"


def test_a_secret_is_a_variable_of_this_process_and_stands_in_no_table(
    namespace: Namespace,
) -> None:
    config = namespace.judged().config
    (account,) = config.accounts
    assert isinstance(account.settings, AccountTable)
    variable = account.settings.secret_key_env
    assert namespace.variables == {variable: "very-secret"}
    assert "very-secret" not in repr(config)
    assert "very-secret" not in repr(namespace.objects)


def test_a_secret_that_changes_changes_the_account(namespace: Namespace) -> None:
    (before,) = namespace.judged().config.accounts
    changed = dataclasses.replace(SECRET, values={"SCW_SECRET_KEY": b"another"})
    namespace.objects = replace(namespace.objects, secrets={"cloud": changed})
    (after,) = namespace.judged().config.accounts
    assert before != after


def test_a_file_of_a_secret_is_for_this_user_alone(namespace: Namespace) -> None:
    spec = {**WEB, "scaleway": {"types": ["DEV1-S"], "cloudInitFile": "init"}}
    assembly = namespace.write(fleets={"web": spec}).judged()
    assert assembly.verdicts[WEB_PLACE].accepted, assembly.verdicts[WEB_PLACE].message
    (file,) = (namespace.folder / "secrets").rglob("init")
    assert file.read_bytes() == b"#cloud"
    assert (file.stat().st_mode & 0o777, file.parent.stat().st_mode & 0o777) == (0o600, 0o700)


def test_the_file_of_a_fleet_is_kept_for_machines_that_outlive_it(tmp_path: Path) -> None:
    places = SecretPlaces(tmp_path, {}, b"salt")
    of_fleet = Path(places.file(SECRET, "init", stable=True))
    of_account = Path(places.file(SECRET, "init", stable=False))
    places.forget(())
    assert (of_fleet.exists(), of_account.exists()) == (True, False)


def test_of_a_secret_that_changes_again_and_again_the_last_value_alone_is_kept(
    tmp_path: Path,
) -> None:
    """What it was before stayed in the process, each of them, for as long as that ran."""
    variables = {"PATH": "/bin"}
    places, values, used = SecretPlaces(tmp_path, variables, b"salt"), dict[str, bytes](), ("", "")
    for number in range(100):
        values = {"key": b"%d" % number, "file": b"%d" % number}
        changed = dataclasses.replace(SECRET, values=values)
        used = (places.variable(changed, "key"), places.file(changed, "file", stable=False))
        places.forget(used)
    assert variables == {"PATH": "/bin", used[0]: "99"}
    assert [file.read_bytes() for file in tmp_path.rglob("file")] == [b"99"]
    assert places.worded(f"{used[0]} {used[1]}") == " ".join(
        f"the key {key} of the Secret cloud" for key in values
    )
    assert len(places._where) == len(used)


def test_the_files_of_two_keys_are_two_whatever_they_are_called(tmp_path: Path) -> None:
    """One is written beside its place first, where another one's may be."""
    places = SecretPlaces(tmp_path, {}, b"salt")
    secret = dataclasses.replace(SECRET, values={"init": b"one", "init.new": b"two"})
    files = [Path(places.file(secret, key, stable=True)) for key in ("init.new", "init")]
    assert [file.read_bytes() for file in files] == [b"two", b"one"]


def test_a_place_where_no_secrets_can_be_is_told_with_the_reason(tmp_path: Path) -> None:
    """As beside a fleet file in a folder that belongs to somebody else."""
    (tmp_path / "file").touch()
    places = SecretPlaces(tmp_path / "file" / "fleet-secrets", {}, b"salt")
    with pytest.raises(ConfigError, match="fleet-secrets, for what objects name"):
        places.clear()


def test_a_secret_for_which_there_is_no_room_refuses_its_object_alone(
    namespace: Namespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files are kept in memory, of which a Pod gets little; Secrets are whoever's."""
    spec = {**WEB, "scaleway": {"types": ["DEV1-S"], "cloudInitFile": "init"}}
    namespace.write(fleets={"web": spec, "other": {**WEB, "size": 0}})

    def write_bytes(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", write_bytes)
    assembly = namespace.judged()
    verdict = assembly.verdicts[WEB_PLACE]
    assert verdict.message == (
        "cloudInitFile: the key init of the Secret cloud cannot be put into a file: No space left "
        "on device"
    )
    assert assembly.verdicts[Place(FLEET, "other")].accepted


@pytest.mark.parametrize(
    ("secrets", "expected"),
    [
        ({}, "secretName"),
        ({"cloud": SecretData(name="cloud", problem="there is no Secret cloud in ns")}, "no Sec"),
        ({"cloud": SecretData(name="cloud", values={"other": b""})}, "has no key SCW_SECRET_KEY"),
    ],
)
def test_a_provider_without_its_secret_is_refused_with_the_reason(
    namespace: Namespace, secrets: Mapping[str, SecretData], expected: str
) -> None:
    namespace.objects = replace(namespace.objects, secrets=secrets)
    assembly = namespace.judged()
    assert expected in assembly.verdicts[CLOUD_PLACE].message
    assert not assembly.verdicts[WEB_PLACE].accepted
    assert assembly.config.fleets == ()


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({**WEB, "timers": {"maxAge": "1s"}}, "spec.timers.maxAge"),
        ({**WEB, "provider": "clout"}, "did you mean cloud?"),
        (
            {**WEB, "scaleway": {"types": ["DEV1-S"], "publicIpv5": True}},
            "spec.scaleway.publicIpv5",
        ),
        ({**WEB, "scaleway": {}}, "spec.scaleway.types"),
        ({"size": 1, "power": {}}, "spec.power: expected spec.scaleway"),
        ({**WEB, "maximum": 1}, "spec.maximum"),
    ],
)
def test_a_fleet_that_is_wrong_is_refused_with_its_place_and_stops_no_other(
    namespace: Namespace, spec: Mapping[str, object], expected: str
) -> None:
    assembly = namespace.write(fleets={"wrong": spec, "web": WEB}).judged()
    verdict = assembly.verdicts[Place(FLEET, "wrong")]
    assert (verdict.reason, verdict.older) == (Reason.INVALID, False)
    assert expected in verdict.message
    assert names(assembly.config) == {"web"}


def test_what_was_right_stays_in_force_past_a_slip(namespace: Namespace) -> None:
    namespace.judged()
    assembly = namespace.write(fleets={"web": {**WEB, "size": 9, "surge": "no"}}).judged()
    verdict = assembly.verdicts[WEB_PLACE]
    assert (verdict.accepted, verdict.older) == (False, True)
    (fleet,) = assembly.config.fleets
    assert fleet.size == 2
    assert namespace.write(fleets={"web": {**WEB, "size": 9}}).judged().config.fleets[0].size == 9


def test_a_slip_in_a_provider_leaves_its_fleets_in_force(namespace: Namespace) -> None:
    namespace.judged()
    wrong = {**CLOUD, "scaleway": {"project": "none"}}
    assembly = namespace.write(providers={"cloud": wrong}).judged()
    assert not assembly.verdicts[CLOUD_PLACE].accepted
    assert assembly.verdicts[WEB_PLACE].accepted
    assert names(assembly.config) == {"web"}


def test_a_fleet_without_an_object_is_no_longer_in_force(namespace: Namespace) -> None:
    namespace.judged()
    assert namespace.write(fleets={}).judged().config.fleets == ()


def test_the_tables_of_a_file_stand_beside_objects_and_come_first(tmp_path: Path) -> None:
    base: Raw = {
        "provider": {"static": {"hosts": [{"address": "127.0.0.1"}]}},
        "fleet": {"boxes": {"size": 1}},
        "engine": {"quiet": "10s"},
    }
    namespace = Namespace(tmp_path, base)
    fleets = {"boxes": {"size": 9}, "more": {"size": 0, "provider": "static"}}
    assembly = namespace.write(fleets=fleets).judged()
    assert names(assembly.config) == {"boxes", "more"}
    assert assembly.config.fleet("boxes").size == 1
    assert assembly.verdicts[Place(FLEET, "boxes")].reason is Reason.NAME_TAKEN
    assert assembly.config.settings.quiet.total_seconds() == 10


def test_a_file_that_is_wrong_is_refused_whole(tmp_path: Path) -> None:
    with pytest.raises(WrongFile):
        Namespace(tmp_path, {"engine": {"quiet": "soon"}}).judged()


# ---------------------------------------------------------------- hosts

REACHED = {"address": "10.0.0.1", "offAfter": "2m"}
RACK = {"kind": "power", "power": {"leastOn": "1m"}}


def a_box(mac: str = "52:54:00:12:34:56", price: float = 0) -> Mapping[str, object]:
    power = {
        "address": "10.0.0.1",
        "price": price,
        "wakeOnLan": {"mac": mac},
        "reachability": REACHED,
    }
    return {"provider": "rack", "power": power}


def test_hosts_are_the_list_of_their_provider(tmp_path: Path) -> None:
    namespace = Namespace(tmp_path).write(
        providers={"rack": RACK}, hosts={"tower": a_box(), "attic": a_box("52:54:00:12:34:57")}
    )
    assembly = namespace.judged()
    boxes = table_list(assembly.tables[Place(PROVIDER, "rack")]["boxes"])
    assert [box["name"] for box in boxes] == ["tower", "attic"]
    assert assembly.verdicts[Place(PROVIDER, "rack")].accepted


def test_a_host_that_is_called_as_one_of_the_file_stops_no_other(tmp_path: Path) -> None:
    """A file is refused for that; of objects it would stop the whole rack for one of its names."""
    base: Raw = {"provider": {"static": {"hosts": [{"address": "127.0.0.1", "name": "tower"}]}}}
    namespace = Namespace(tmp_path, base).write(
        providers={"rack": RACK}, hosts={"tower": a_box(), "attic": a_box("52:54:00:12:34:57")}
    )
    assert namespace.judged().verdicts[Place(PROVIDER, "rack")].accepted


def test_a_host_that_is_wrong_stops_no_other(tmp_path: Path) -> None:
    namespace = Namespace(tmp_path).write(
        providers={"rack": RACK}, hosts={"tower": a_box(), "attic": a_box(price=-1)}
    )
    making = Candidates(namespaces=HOME, kinds=KINDS, base={}, places=namespace.places)
    candidate = making.of(namespace.objects, {})[Place(PROVIDER, "rack")]
    assert candidate.hosts["tower"].accepted
    assert "spec.power.price" in candidate.hosts["attic"].message
    assert candidate.hosts["attic"].reason is Reason.INVALID
    assembly = namespace.judged()
    assert assembly.verdicts[Place(PROVIDER, "rack")].accepted


FORBIDDEN = {**a_box(), "labels": {"kubernetes.io/hostname": "a"}}
NO_IMAGE = {"provider": "rack", "power": {"job": {"node": "a", "on": {"image": "evil:1"}}}}
RACK_PLACE = Place(PROVIDER, "rack")


def test_a_fault_in_the_labels_of_a_host_leaves_its_box_in_force(tmp_path: Path) -> None:
    """Also right after a start, when nothing is known to have been in force before."""
    namespace = Namespace(tmp_path).write(providers={"rack": RACK}, hosts={"tower": FORBIDDEN})
    namespace.recorded = frozenset({("rack", "tower")})
    assembly = namespace.judged()
    assert boxes_of(assembly) == ["tower"]
    making = Candidates(namespaces=HOME, kinds=KINDS, base={}, places=namespace.places)
    verdict = making.of(namespace.objects, {})[RACK_PLACE].hosts["tower"]
    assert verdict.reason is Reason.NOT_ALLOWED
    assert "the rest of it is in force" in verdict.message


@pytest.mark.parametrize("wrong", [NO_IMAGE, a_box(price=-1)], ids=["not allowed", "invalid"])
def test_a_provider_is_not_run_without_a_host_of_its_records(
    tmp_path: Path, wrong: Mapping[str, object]
) -> None:
    """Its machine would be held for lost, and another one be started beside it."""
    namespace = Namespace(tmp_path).write(
        providers={"rack": RACK},
        hosts={"tower": wrong, "attic": a_box()},
        fleets={"nodes": {"size": 1, "provider": "rack"}},
    )
    namespace.recorded = frozenset({("rack", "tower")})
    assembly = namespace.judged()
    verdict = assembly.verdicts[RACK_PLACE]
    assert not verdict.accepted
    assert "Host tower is on record" in verdict.message
    assert "spec.power." in verdict.message
    assert (assembly.config.accounts, assembly.config.fleets) == ((), ())
    assert boxes_of(namespace.write(hosts={"tower": a_box()}).judged()) == ["tower"]
    assert boxes_of(namespace.write(hosts={"tower": wrong}).judged()) == ["tower"]


NO_CURE = {"provider": "rack", "power": {"wakeOnLan": {"mac": "52:54:00:12:34:56"}}}
"""Right by its types; its kind finds that nothing tells how it stands."""


def test_what_the_kind_finds_wrong_with_one_host_is_told_there_and_stops_no_other(
    tmp_path: Path,
) -> None:
    """Names may begin alike, and have dots: the longest that fits is meant."""
    hosts = {"box": a_box(), "box.lab": a_box("52:54:00:12:34:57"), "other": a_box()}
    namespace = Namespace(tmp_path).write(providers={"rack": RACK}, hosts=hosts)
    assert boxes_of(namespace.judged()) == ["box", "box.lab", "other"]
    http = {"provider": "rack", "power": {"shelly": {"url": "gopher://192.0.2.1"}}}
    changed = {**hosts, "box.lab": NO_CURE, "other": a_box(price=2), "new": http}
    assembly = namespace.write(hosts=changed).judged()
    assert assembly.verdicts[RACK_PLACE].accepted, assembly.verdicts[RACK_PLACE].message
    boxes = {box["name"]: box for box in table_list(assembly.tables[RACK_PLACE]["boxes"])}
    assert sorted(map(str, boxes)) == ["box", "box.lab", "other"]
    assert "reachability" in boxes["box.lab"], "as it was in force before"
    assert boxes["other"]["price"] == 2, "what is right comes into force beside it"
    found = namespace.verdicts()
    assert [name for name, one in found.items() if not one.accepted] == ["box.lab", "new"]
    assert (found["box.lab"].reason, found["box.lab"].older) == (Reason.INVALID, True)
    assert found["box.lab"].message == (
        "spec: expected a method that tells how it stands: nothing is done on a guess"
    )
    assert found["new"].message.startswith("spec.power.shelly.url: expected ")
    assert not found["new"].older


def test_a_host_that_cannot_be_opened_stops_no_other(tmp_path: Path) -> None:
    namespace = Namespace(tmp_path).write(
        providers={"rack": RACK}, hosts={"tower": a_box(), "attic": a_box()}
    )
    namespace.refused = {("rack", "attic"): "shelly.ca_file: it cannot be read"}
    assert boxes_of(namespace.judged()) == ["tower"]
    attic = namespace.verdicts()["attic"]
    assert (attic.reason, attic.older) == (Reason.NOT_OPENED, False)
    assert attic.message == "spec.power.shelly.caFile: it cannot be read"


def test_the_last_host_leaves_its_provider_in_force_without_any(tmp_path: Path) -> None:
    """Else hostler would go on with a box that nobody lists any more."""
    fleets = {"nodes": {"size": 1, "provider": "rack"}, "more": {"size": 0, "provider": "rack"}}
    namespace = Namespace(tmp_path).write(
        providers={"rack": RACK}, hosts={"tower": a_box()}, fleets=fleets
    )
    assert names(namespace.judged().config) == {"nodes", "more"}
    for _ in range(2):
        assembly = namespace.write(hosts={}).judged()
        assert boxes_of(assembly) == []
        assert assembly.verdicts[RACK_PLACE].accepted, assembly.verdicts[RACK_PLACE].message
        assert names(assembly.config) == {"nodes", "more"}, "no group vanishes"
    assert names(namespace.write(hosts={"tower": a_box()}).judged().config) == {"nodes", "more"}


def test_a_provider_may_be_written_before_its_hosts_and_a_fleet_waits_for_them(
    tmp_path: Path,
) -> None:
    fleets = {"nodes": {"size": 0, "provider": "rack"}}
    namespace = Namespace(tmp_path).write(providers={"rack": RACK}, fleets=fleets)
    assembly = namespace.judged()
    assert assembly.verdicts[RACK_PLACE].accepted, assembly.verdicts[RACK_PLACE].message
    assert "there is none" in assembly.verdicts[Place(FLEET, "nodes")].message
    assert names(namespace.write(hosts={"tower": a_box()}).judged().config) == {"nodes"}


def test_a_faulty_host_that_no_record_has_stops_nobody(tmp_path: Path) -> None:
    hosts = {"tower": NO_IMAGE, "attic": a_box()}
    namespace = Namespace(tmp_path).write(providers={"rack": RACK}, hosts=hosts)
    namespace.recorded = frozenset({("rack", "attic"), ("other", "tower")})
    assert boxes_of(namespace.judged()) == ["attic"]


def boxes_of(assembly: Assembly) -> list[object]:
    return [box["name"] for box in table_list(assembly.tables[RACK_PLACE]["boxes"])]


def test_a_fleet_larger_than_its_rack_is_refused_and_not_the_rack(tmp_path: Path) -> None:
    namespace = Namespace(tmp_path).write(
        providers={"rack": RACK},
        hosts={"tower": a_box()},
        fleets={"nodes": {"size": 2, "provider": "rack"}},
    )
    assembly = namespace.judged()
    assert "spec.size" in assembly.verdicts[Place(FLEET, "nodes")].message
    assert assembly.verdicts[Place(PROVIDER, "rack")].accepted


def test_two_fleets_that_do_not_fit_together_leave_the_older_one_in_force(tmp_path: Path) -> None:
    nodes = {"size": 1, "provider": "rack"}
    namespace = Namespace(tmp_path).write(
        providers={"rack": RACK}, hosts={"tower": a_box()}, fleets={"nodes": nodes}
    )
    assert names(namespace.judged().config) == {"nodes"}
    assembly = namespace.write(fleets={"again": nodes, "nodes": nodes}).judged()
    assert names(assembly.config) == {"nodes"}
    assert not assembly.verdicts[Place(FLEET, "again")].accepted
    assert assembly.config.fleet("nodes").name == FleetName("nodes")
