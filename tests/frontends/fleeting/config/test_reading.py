"""What a plugin_config may say, and what is told of one that is wrong."""

import json
import stat
from collections.abc import Callable, Mapping
from datetime import timedelta
from pathlib import Path
from typing import cast

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hostler.app.provider_registry import KINDS
from hostler.app.store_registry import STORES
from hostler.config.load import load
from hostler.config.values import WrongFile
from hostler.domain.errors import ConfigError, StoreHeld
from hostler.domain.model.fleet import ProbeKind
from hostler.frontends.fleeting.config.load import LoadContext, load_group
from hostler.frontends.fleeting.config.values import GroupConfig
from hostler.frontends.fleeting.contract import Connector
from hostler.frontends.fleeting.ssh_key import stored_pair
from hostler.stores.sqlite.file import is_held, take

SECRET = "5ec5ec5e-0000-4000-8000-5ec5ec5ec5ec"
PROJECT = "22222222-2222-2222-2222-222222222222"
NETWORK = "33333333-3333-3333-3333-333333333333"
ACCESS = "SCW1234567890ABCDEFG"
SMALL: Mapping[str, object] = {
    "name": "ci",
    "server_type": "DEV1-S",
    "secret_key": SECRET,
    "project": PROJECT,
}


def context(folder: Path, **environment: str) -> LoadContext:
    return LoadContext(
        environment={"HOSTLER_STATE_DIR": str(folder / "state"), **environment},
        folder=folder,
        root=False,
        kinds=KINDS,
        stores=STORES,
        held=is_held,
    )


def group(
    folder: Path,
    message: Mapping[str, object],
    connector: Connector | None = None,
    environment: Mapping[str, str] | None = None,
) -> GroupConfig:
    where = context(folder, **(environment or {}))
    return load_group(json.dumps(message).encode(), connector or Connector(), where)


def faults(
    folder: Path,
    message: Mapping[str, object],
    connector: Connector | None = None,
    environment: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """Return every fault by its path, as it is printed."""
    with pytest.raises(WrongFile) as caught:
        group(folder, message, connector, environment)
    assert SECRET not in str(caught.value)
    return {fault.path: str(fault) for fault in caught.value.faults}


# ------------------------------------------------------------------ what is right


def test_a_small_config_is_a_fleet_of_size_0_that_somebody_else_sizes(tmp_path: Path) -> None:
    made = group(tmp_path, SMALL)
    assert (made.name, made.fleet.size, made.fleet.maximum, made.max_size) == ("ci", 0, 100, 100)
    assert not made.fleet.renews
    assert made.fleet.reclaim
    assert (made.fleet.probe.kind, made.fleet.probe.port) == (ProbeKind.TCP, 22)
    assert [(o.type, o.zone, o.image) for o in made.fleet.offers] == [
        ("DEV1-S", "fr-par-1", "ubuntu_noble")
    ]
    assert made.state == (tmp_path / "state" / "fleeting" / "ci").resolve()
    assert made.config.store.path == made.state / "hostler.db"
    assert made.environment["SCW_SECRET_KEY"] == SECRET
    assert made.user == "root"


def test_the_fleet_file_in_the_state_folder_says_the_same(tmp_path: Path) -> None:
    message = {**SMALL, "cloud_init": '#cloud-config\nquote: "\\"\n', "labels": {"team": 'a"b'}}
    made = group(tmp_path, message)
    assert load(made.state / "group.toml", KINDS, STORES) == made.config


def test_no_secret_is_written_or_shown(tmp_path: Path) -> None:
    made = group(tmp_path, {**SMALL, "access_key": ACCESS})
    written = "".join(file.read_text() for file in made.state.iterdir())
    assert SECRET not in written
    assert SECRET not in repr(made)
    assert made.key.private.decode() not in repr(made)
    assert "SCW_SECRET_KEY" in repr(made.environment)


def test_what_is_written_is_only_for_its_owner(tmp_path: Path) -> None:
    made = group(tmp_path, SMALL)
    assert stat.S_IMODE(made.state.stat().st_mode) == 0o700
    modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in made.state.iterdir()}
    assert modes == {"group.toml": 0o600, "user-data": 0o600, "id_ed25519": 0o600}


def test_a_folder_that_others_could_enter_is_closed(tmp_path: Path) -> None:
    folder = tmp_path / "state" / "fleeting" / "ci"
    folder.mkdir(parents=True, mode=0o755)
    group(tmp_path, SMALL)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_every_key_reaches_the_fleet(tmp_path: Path) -> None:
    (tmp_path / "init").write_text("#!/bin/sh\ntrue\n")
    (tmp_path / "ca.pem").write_text("")
    made = group(
        tmp_path,
        {
            **SMALL,
            "server_type": ["DEV1-S", "PLAY2-PICO"],
            "zone": ["fr-par-1", "nl-ams-1"],
            "image": "debian_bookworm",
            "max_size": 7,
            "cloud_init_file": "init",
            "volume_size": 30,
            "public_ipv4_disabled": True,
            "public_ipv6_disabled": True,
            "private_networks": [NETWORK],
            "security_group": NETWORK,
            "placement_group": NETWORK,
            "tags": ["one"],
            "labels": {"two": "2"},
            "address_pool": "pool",
            "user": "ubuntu",
            "ready": {"command": ["true"], "timeout": "3s"},
            "organization": PROJECT,
            "endpoint": "http://127.0.0.1:8100",
            "ca_file": "ca.pem",
            "adopt": ["h1f2"],
            "reclaim": False,
            "rate": 3,
            "burst": 4,
            "consistency_delay": "3s",
            "metrics": "127.0.0.1:9100",
            "timers": {"start": "4m"},
            "caps": {"creates": 9},
            "engine": {"quiet": "9s"},
        },
    )
    fleet, template = made.fleet, made.config.templates[made.name]
    assert [f"{o.type} {o.zone}" for o in fleet.offers] == [
        "DEV1-S fr-par-1",
        "DEV1-S nl-ams-1",
        "PLAY2-PICO fr-par-1",
        "PLAY2-PICO nl-ams-1",
    ]
    assert (fleet.maximum, fleet.reclaim) == (7, False)
    assert (fleet.timers.start, fleet.caps.creates) == (timedelta(minutes=4), 9)
    assert (fleet.caps.share, fleet.caps.per_hour) == (0.5, 20)
    assert (fleet.probe.kind, fleet.probe.command) == (ProbeKind.COMMAND, ("true",))
    assert fleet.probe.timeout == timedelta(seconds=3)
    values = {
        key: getattr(template, key) for key in ("image", "public_ipv4", "public_ipv6", "tags")
    }
    assert values == {
        "image": "debian_bookworm",
        "public_ipv4": False,
        "public_ipv6": False,
        "tags": ("one", "two=2"),
    }
    volume = getattr(template, "volume", None)
    assert getattr(volume, "size", 0) == 30_000_000_000
    assert getattr(template, "private_networks", ()) == (NETWORK,)
    assert getattr(template, "security_group", "") == NETWORK
    assert getattr(template, "placement_group", "") == NETWORK
    assert getattr(template, "address_pool", "") == "pool"
    assert getattr(template, "user", "") == made.user == "ubuntu"
    assert (made.account.rate, made.account.burst) == (3, 4)
    assert getattr(made.account.settings, "endpoint", "") == "http://127.0.0.1:8100"
    assert getattr(made.account.settings, "consistency_delay", None) == timedelta(seconds=3)
    assert made.config.settings.quiet == timedelta(seconds=9)
    assert made.config.metrics is not None
    assert made.config.metrics.port == 9100
    assert (made.organization, made.adopt) == (PROJECT, ("h1f2",))
    assert "text/x-shellscript" in (made.state / "user-data").read_text()


@pytest.mark.parametrize(
    ("ready", "kind", "port"),
    [
        ("tcp", ProbeKind.TCP, 22),
        ("ssh", ProbeKind.SSH, 22),
        ("api", ProbeKind.API, 0),
        ({"tcp": 2222}, ProbeKind.TCP, 2222),
        ({"ssh": 2222}, ProbeKind.SSH, 2222),
    ],
)
def test_ready_names_a_probe(tmp_path: Path, ready: object, kind: ProbeKind, port: int) -> None:
    probe = group(tmp_path, {**SMALL, "ready": ready, "user": "ubuntu"}).fleet.probe
    assert (probe.kind, probe.port) == (kind, port)
    assert probe.user == ("ubuntu" if kind is ProbeKind.SSH else "")


def test_the_runner_says_port_and_login_where_the_config_does_not(tmp_path: Path) -> None:
    made = group(tmp_path, SMALL, Connector(protocol_port=2222, username="debian"))
    assert (made.fleet.probe.port, made.user) == (2222, "debian")
    assert '"debian"' in (made.state / "user-data").read_text()


@pytest.mark.parametrize("size", [20, "20GB"])
def test_a_volume_is_gigabytes_or_a_size(tmp_path: Path, size: object) -> None:
    template = group(tmp_path, {**SMALL, "volume_size": size}).config.templates
    volume = next(getattr(one, "volume", None) for one in template.values())
    assert getattr(volume, "size", 0) == 20_000_000_000


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ({"location": "nl-ams-1"}, {"zone": "nl-ams-1"}),
        ({"user_data": "#!/bin/sh"}, {"cloud_init": "#!/bin/sh"}),
        ({"user_data_file": "f"}, {"cloud_init_file": "f"}),
        ({"labels": {"a": "b"}}, {"tags": ["a=b"]}),
    ],
)
def test_other_plugins_words_mean_the_same(
    tmp_path: Path, theirs: Mapping[str, object], ours: Mapping[str, object]
) -> None:
    (tmp_path / "f").write_text("#!/bin/sh\n")
    assert (
        group(tmp_path, {**SMALL, **theirs}).config.fleets
        == group(tmp_path, {**SMALL, **ours}).config.fleets
    )


# ------------------------------------------------------------------ where settings come from


def test_the_environment_fills_what_the_config_leaves_out(tmp_path: Path) -> None:
    made = group(
        tmp_path,
        {"name": "ci", "server_type": "DEV1-S"},
        environment={
            "SCW_SECRET_KEY": SECRET,
            "SCW_PROJECT_ID": PROJECT,
            "SCW_ORGANIZATION_ID": NETWORK,
            "SCW_API_URL": "http://127.0.0.1:1/",
            "SCW_DEFAULT_ZONE": "nl-ams-1",
        },
    )
    assert made.environment["SCW_SECRET_KEY"] == SECRET
    assert getattr(made.account.settings, "project", "") == PROJECT
    assert getattr(made.account.settings, "endpoint", "") == "http://127.0.0.1:1/"
    assert made.fleet.offers[0].zone == "nl-ams-1"
    assert made.organization == NETWORK


def test_the_config_comes_before_the_environment(tmp_path: Path) -> None:
    outside = {"SCW_SECRET_KEY": NETWORK, "SCW_DEFAULT_PROJECT_ID": NETWORK}
    made = group(tmp_path, SMALL, environment={**outside, "SCW_DEFAULT_ZONE": "nl-ams-1"})
    assert made.environment["SCW_SECRET_KEY"] == SECRET
    assert getattr(made.account.settings, "project", "") == PROJECT


def test_settings_may_stand_in_files(tmp_path: Path) -> None:
    (tmp_path / "key").write_text(f"{SECRET}\n")
    (tmp_path / "project").write_text(PROJECT)
    message = {"name": "ci", "server_type": "DEV1-S", "secret_key_file": "key"}
    made = group(tmp_path, message, environment={"SCW_PROJECT_ID_FILE": str(tmp_path / "project")})
    assert made.environment["SCW_SECRET_KEY"] == SECRET
    assert getattr(made.account.settings, "project", "") == PROJECT
    assert getattr(made.account.settings, "secret_key_file", "") == str(
        (tmp_path / "key").resolve()
    )


@pytest.mark.parametrize(
    ("environment", "place"),
    [
        ({"HOSTLER_STATE_DIR": "here"}, "here"),
        ({"HOSTLER_STATE_DIR": "", "XDG_STATE_HOME": "xdg"}, "xdg/hostler"),
        ({"HOSTLER_STATE_DIR": "", "HOME": "home"}, "home/.local/state/hostler"),
    ],
)
def test_the_state_folder_is_found(
    tmp_path: Path, environment: Mapping[str, str], place: str
) -> None:
    whole = {key: str(tmp_path / value) if value else "" for key, value in environment.items()}
    made = group(tmp_path, SMALL, environment=whole)
    assert made.state == (tmp_path / place / "fleeting" / "ci").resolve()


def test_state_dir_comes_before_the_environment(tmp_path: Path) -> None:
    made = group(tmp_path, {**SMALL, "state_dir": str(tmp_path / "mine")})
    assert made.state == (tmp_path / "mine" / "fleeting" / "ci").resolve()


def test_no_home_and_no_state_dir_is_told(tmp_path: Path) -> None:
    output = faults(tmp_path, SMALL, environment={"HOSTLER_STATE_DIR": ""})
    assert "no home" in output["plugin_config.state_dir"]


# ------------------------------------------------------------------ what is wrong


def test_every_fault_is_told_at_once_with_the_key_that_was_written(tmp_path: Path) -> None:
    output = faults(
        tmp_path,
        {
            "name": "CI x",
            "server_type": "dev1",
            "location": ["paris"],
            "secret_key": "hunter2",
            "project": "mine",
            "volume_size": "big",
            "timers": {"startt": "1s", "stop": 3},
            "ready": {"tcp": 1, "ssh": 2},
            "cloud_init": "hello",
            "ssh_key_file": "/nope",
            "tags": ["hostler-x"],
            "labels": {"a": "b,c"},
            "engine": {"quiet": 1},
            "metrics": "x",
            "rate": 10**9,
            "max_size": 10**40,
            "imagee": "x",
        },
    )
    assert set(output) == {
        "plugin_config.name",
        "plugin_config.server_type",
        "plugin_config.location[0]",
        "plugin_config.secret_key",
        "plugin_config.project",
        "plugin_config.volume_size",
        "plugin_config.timers.startt",
        "plugin_config.timers.stop",
        "plugin_config.ready",
        "plugin_config.cloud_init",
        "plugin_config.ssh_key_file",
        "plugin_config.tags[0]",
        "plugin_config.labels.a",
        "plugin_config.engine.quiet",
        "plugin_config.metrics",
        "plugin_config.rate",
        "plugin_config.max_size",
        "plugin_config.imagee",
    }
    assert "did you mean image?" in output["plugin_config.imagee"]
    assert "did you mean start?" in output["plugin_config.timers.startt"]
    assert "hunter2" not in "".join(output.values())


@pytest.mark.parametrize(
    "message", [{"image": "x"}, {"name": None, "server_type": None, "project": None}]
)
def test_what_is_needed_is_told_where_it_is_missing(
    tmp_path: Path, message: Mapping[str, object]
) -> None:
    output = faults(tmp_path, message)
    assert set(output) == {
        "plugin_config.name",
        "plugin_config.server_type",
        "plugin_config.secret_key",
        "plugin_config.project",
    }
    assert "SCW_SECRET_KEY" in output["plugin_config.secret_key"]


@pytest.mark.parametrize(
    ("key", "value", "cure"),
    [
        ("token", "x", "use secret_key"),
        ("project_id", PROJECT, "it is called project"),
        ("public_ip_pool_enabled", True, "address_pool"),
        ("max_instances", 3, "[runners.autoscaler]"),
        ("username", "root", "connector_config"),
        ("schema", {}, "HOSTLER_FLEETING_SCHEMA"),
    ],
)
def test_what_means_nothing_here_is_told_with_its_cure(
    tmp_path: Path, key: str, value: object, cure: str
) -> None:
    assert cure in faults(tmp_path, {**SMALL, key: value})[f"plugin_config.{key}"]


@pytest.mark.parametrize(
    ("more", "path"),
    [
        ({"zone": "fr-par-1", "location": "fr-par-1"}, "plugin_config.location"),
        ({"cloud_init": "#!x", "cloud_init_file": "f"}, "plugin_config.cloud_init_file"),
        ({"cloud_init": "#!x", "user_data": "#!x"}, "plugin_config.user_data"),
        ({"secret_key_file": "f"}, "plugin_config.secret_key_file"),
    ],
)
def test_two_words_for_one_thing_are_too_many(
    tmp_path: Path, more: Mapping[str, object], path: str
) -> None:
    assert "not both" in faults(tmp_path, {**SMALL, **more})[path]


def test_a_wrong_value_of_the_environment_is_told_by_its_variable(tmp_path: Path) -> None:
    outside = {"SCW_DEFAULT_ZONE": "paris", "SCW_API_URL": "ftp://x", "SCW_ACCESS_KEY": "abc"}
    output = faults(tmp_path, SMALL, environment=outside)
    assert set(output) == {f"environment variable {name}" for name in outside}


def test_files_that_cannot_be_read_are_told(tmp_path: Path) -> None:
    (tmp_path / "empty").write_text(" \n")
    (tmp_path / "bytes").write_bytes(b"\xff")
    message = {
        "name": "ci",
        "server_type": "DEV1-S",
        "secret_key_file": "none",
        "project_file": "empty",
        "cloud_init_file": "bytes",
    }
    output = faults(tmp_path, message)
    assert "No such file" in output["plugin_config.secret_key_file"]
    assert "a value in it" in output["plugin_config.project_file"]
    assert "not UTF-8" in output["plugin_config.cloud_init_file"]


def test_instances_without_any_address_are_refused(tmp_path: Path) -> None:
    none = {"public_ipv4_disabled": True, "public_ipv6_disabled": True}
    output = faults(tmp_path, {**SMALL, **none})
    assert "cannot be reached" in output["plugin_config.private_networks"]


def test_windows_is_refused(tmp_path: Path) -> None:
    output = faults(tmp_path, SMALL, Connector(protocol="winrm", os="windows"))
    assert set(output) == {"connector_config.protocol", "connector_config.os"}


def test_a_login_that_no_user_can_have_is_refused(tmp_path: Path) -> None:
    output = faults(tmp_path, SMALL, Connector(username="x; reboot"))
    assert set(output) == {"connector_config.username"}


def test_user_data_that_is_too_long_is_told_with_the_limit(tmp_path: Path) -> None:
    output = faults(tmp_path, {**SMALL, "cloud_init": "#!/bin/sh\n" + "#" * 127_900})
    assert "127,998" in output["plugin_config.cloud_init"]


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("a file")
    assert "can be written" in faults(tmp_path, SMALL)["plugin_config.state_dir"]


def test_a_second_plugin_on_the_same_folder_is_refused_and_changes_nothing(tmp_path: Path) -> None:
    made = group(tmp_path, SMALL)
    before = (made.state / "group.toml").read_text()
    held = load_held(made.state / "hostler.db")
    try:
        with pytest.raises(StoreHeld, match="another plugin runs"):
            group(tmp_path, {**SMALL, "max_size": 3})
    finally:
        held()
    assert (made.state / "group.toml").read_text() == before
    assert group(tmp_path, {**SMALL, "max_size": 3}).max_size == 3


def load_held(store: Path) -> Callable[[], None]:
    """Hold a store as an engine does; return what lets go of it."""
    return take(store).let_go


def test_records_of_one_project_are_not_taken_for_anothers(tmp_path: Path) -> None:
    made = group(tmp_path, SMALL)
    group(tmp_path, {**SMALL, "project": NETWORK})
    made.config.store.path.write_bytes(b"")
    with pytest.raises(ConfigError, match=f"are of project {NETWORK}"):
        group(tmp_path, SMALL)


# ------------------------------------------------------------------ keys and restarts


def test_a_restart_changes_nothing(tmp_path: Path) -> None:
    message = {**SMALL, "cloud_init": "#cloud-config\npackages: [git]\n"}
    first = group(tmp_path, message)
    files = {file.name: file.read_bytes() for file in first.state.iterdir()}
    again = group(tmp_path, message)
    assert {file.name: file.read_bytes() for file in again.state.iterdir()} == files
    assert (again.fleet.template, again.key) == (first.fleet.template, first.key)


def test_a_given_key_is_used_and_none_is_made(tmp_path: Path) -> None:
    theirs = stored_pair(tmp_path)
    made = group(tmp_path, {**SMALL, "ssh_key_file": "id_ed25519"})
    assert made.key == theirs
    assert not (made.state / "id_ed25519").exists()
    assert theirs.public in (made.state / "user-data").read_text()


def test_the_runners_own_key_is_used(tmp_path: Path) -> None:
    theirs = stored_pair(tmp_path)
    assert group(tmp_path, SMALL, Connector(key=theirs.private)).key == theirs


def test_a_damaged_key_of_the_runner_is_told(tmp_path: Path) -> None:
    output = faults(tmp_path, SMALL, Connector(key=b"-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA"))
    assert "damaged" in output["connector_config.key_path"]


def test_a_damaged_key_of_the_group_is_never_replaced(tmp_path: Path) -> None:
    made = group(tmp_path, SMALL)
    (made.state / "id_ed25519").write_text("rubbish")
    with pytest.raises(ConfigError, match="bring it back from a backup"):
        group(tmp_path, SMALL)
    assert (made.state / "id_ed25519").read_text() == "rubbish"


# ------------------------------------------------------------------ hostile bytes


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "there is none"),
        (b"null", "there is none"),
        (b"{}", "there is none"),
        (b"[]", "expected an object"),
        (b'"name"', "expected an object"),
        (b'{"name": "ci"', "not valid JSON"),
        (b'{"name": NaN}', "NaN is no value of JSON"),
        (b'{"rate": -Infinity}', "no value of JSON"),
        (b'{"name": "a", "name": "b"}', "'name' stands there twice"),
        (b'{"timers": {"start": 1, "start": 2}}', "'start' stands there twice"),
        (b"\xff\xfe", "not UTF-8"),
        (b'{"name": "\\ud800"}', "plugin_config.name: a text with half a character"),
        (b'{"tags": ["a\\u0000"]}', "plugin_config.tags[0]: a text with half a character or a NUL"),
        (b'{"\\udfff": 1}', "a key: a text with half a character"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"a": ' * 100_000, "nested too deeply"),
        *((b'{"a": ' * deep + b"1" + b"}" * deep, "nested too deeply") for deep in (11, 900)),
        (b"9" * 10_000, "too long to be read"),
        (b" " * 1_000_001, "larger than 1,000,000 bytes"),
        (json.dumps({str(n): 1 for n in range(9000)}).encode(), "more than 2,000 keys"),
        (json.dumps({"tags": ["a"] * 9000}).encode(), "more than 2,000 keys"),
    ],
)
def test_bytes_that_are_no_config_are_refused_in_a_sentence(
    tmp_path: Path, content: bytes, message: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        load_group(content, Connector(), context(tmp_path))
    assert str(caught.value).startswith("plugin_config")
    assert message in str(caught.value)
    assert len(str(caught.value)) < 500


def test_of_very_many_faults_the_first_are_told(tmp_path: Path) -> None:
    output = faults(tmp_path, {**SMALL, **{f"x{number}": 1 for number in range(1000)}})
    assert len(output) == 51
    assert "950 more" in output["plugin_config"]


def test_a_bom_is_no_harm(tmp_path: Path) -> None:
    content = b"\xef\xbb\xbf" + json.dumps(SMALL).encode()
    assert load_group(content, Connector(), context(tmp_path)).name == "ci"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["tcp", "start", "tries", "x"]), inner, max_size=3)
    ),
    max_leaves=5,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.dictionaries(
        st.sampled_from([*SMALL, "zone", "ready", "timers", "volume_size", "labels", "tags"])
        | st.text(max_size=8),
        JSON,
        max_size=6,
    )
)
def test_whatever_stands_there_is_read_or_refused_in_words(
    tmp_path: Path, message: dict[str, object]
) -> None:
    content = json.dumps({**SMALL, **message}, ensure_ascii=False).encode(errors="surrogatepass")
    made, output = None, ""
    try:
        made = load_group(content, Connector(), context(tmp_path))
    except ConfigError as error:
        output = str(error)
    assert output.startswith("plugin_config") or made is not None
    if made is not None:
        assert made.state.is_relative_to(tmp_path.resolve()) or "state_dir" in message
        assert load(made.state / "group.toml", KINDS, STORES) == made.config


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50)
@given(st.data())
def test_a_config_that_is_cut_off_is_refused(tmp_path: Path, data: st.DataObject) -> None:
    whole = json.dumps(SMALL).encode()
    cut = data.draw(st.integers(min_value=0, max_value=len(whole) - 1))
    with pytest.raises(ConfigError):
        load_group(whole[:cut], Connector(), context(tmp_path))


def test_the_message_of_init_is_one_readable_text(tmp_path: Path) -> None:
    with pytest.raises(WrongFile) as caught:
        group(tmp_path, {**SMALL, "server_typ": "x", "image": cast("object", 3)})
    assert str(caught.value) == (
        "plugin_config: 2 errors\n"
        "  plugin_config.server_typ\n"
        "      expected no such key\n"
        "      did you mean server_type?\n"
        "  plugin_config.image = 3\n"
        "      expected text that is not empty"
    )
