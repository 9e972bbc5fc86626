import os
from datetime import timedelta
from pathlib import Path
from typing import cast

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hostler.app.provider_registry import KINDS
from hostler.app.store_registry import STORES
from hostler.config.load import load
from hostler.config.store_url import StoreUrl
from hostler.config.values import Config, WrongFile
from hostler.domain.errors import ConfigError, Remedy
from hostler.domain.model.fleet import Caps, ProbeKind, Timers

UUID = "22222222-2222-2222-2222-222222222222"
SECRET = "5ec5ec5e-0000-4000-8000-5ec5ec5ec5ec"
SMALL = """
[provider.scaleway]
[fleet.web]
size = 2
types = ["DEV1-S"]
"""


def read(folder: Path, text: str | bytes, name: str = "web.toml") -> Config:
    file = folder / name
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return load(file, KINDS, STORES)


def faults(folder: Path, text: str) -> dict[str, str]:
    """Return every fault of a file by its path, as it is printed."""
    with pytest.raises(WrongFile) as caught:
        read(folder, text)
    return {fault.path: str(fault) for fault in caught.value.faults}


# ------------------------------------------------------------------ what is right


def test_a_small_file_has_the_defaults_of_the_domain(tmp_path: Path) -> None:
    config = read(tmp_path, SMALL)
    (fleet,) = config.fleets
    assert (fleet.name, fleet.size, fleet.account) == ("web", 2, "scaleway")
    assert (fleet.timers, fleet.caps) == (Timers(), Caps())
    assert config.store == StoreUrl("sqlite", str(tmp_path / "web.db"))
    assert config.metrics is None
    assert config.accounts[0].rate == 10


def test_every_common_key_reaches_its_value(tmp_path: Path) -> None:
    config = read(
        tmp_path,
        """
        store = "sqlite:records.db"
        [provider.main]
        kind = "scaleway"
        rate = 3
        burst = 4
        [fleet.web]
        provider = "main"
        size = 3
        maximum = 9
        surge = 2
        types = ["DEV1-S"]
        reclaim = true
        protected = true
        replace_outdated = true
        ready = { probe = "command", command = ["./up", "--now"], port = 80, timeout = "3s" }
        [fleet.web.timers]
        start = "4m"
        max_age = "1d"
        tries = ["1s", "1m"]
        [fleet.web.caps]
        per_reclaim = 1
        share = 0.5
        creates = 7
        [engine]
        lease_ttl = "40s"
        quiet = "9s"
        remember = "4w"
        [metrics]
        listen = "[::1]:9100"
        """,
    )
    (fleet,) = config.fleets
    assert config.store.path == tmp_path / "records.db"
    assert (config.accounts[0].rate, config.accounts[0].burst) == (3, 4)
    assert (fleet.maximum, fleet.surge, fleet.reclaim) == (9, 2, True)
    assert fleet.protected
    assert fleet.replace_outdated
    assert (fleet.probe.kind, fleet.probe.command) == (ProbeKind.COMMAND, ("./up", "--now"))
    assert (fleet.probe.port, fleet.probe.timeout) == (80, timedelta(seconds=3))
    assert fleet.timers.start == timedelta(minutes=4)
    assert fleet.timers.max_age == timedelta(days=1)
    assert fleet.timers.tries == (timedelta(seconds=1), timedelta(minutes=1))
    assert (fleet.caps.per_reclaim, fleet.caps.share, fleet.caps.creates) == (1, 0.5, 7)
    assert config.settings.lease_ttl == timedelta(seconds=40)
    assert config.settings.quiet == timedelta(seconds=9)
    assert config.settings.remember == timedelta(weeks=4)
    assert config.metrics is not None
    assert (config.metrics.host, config.metrics.port) == ("::1", 9100)


def test_offers_go_type_by_type_through_all_zones(tmp_path: Path) -> None:
    zones = SMALL.replace(
        '["DEV1-S"]', '["DEV1-S", "PLAY2-PICO"]\nzones = ["fr-par-1", "nl-ams-1"]'
    )
    (fleet,) = read(tmp_path, zones).fleets
    assert [(offer.type, offer.zone) for offer in fleet.offers] == [
        ("DEV1-S", "fr-par-1"),
        ("DEV1-S", "nl-ams-1"),
        ("PLAY2-PICO", "fr-par-1"),
        ("PLAY2-PICO", "nl-ams-1"),
    ]


@pytest.mark.parametrize(
    "line",
    [
        'cloud_init = "#cloud-config"',
        'volume = { size = "30GB" }',
        "public_ipv6 = true",
        "server_protection = true",
        'image = "debian_bookworm"',
        'tags = ["mine"]',
    ],
)
def test_the_digest_follows_what_machines_are_made_from(tmp_path: Path, line: str) -> None:
    assert (
        read(tmp_path, SMALL).fleets[0].template != read(tmp_path, SMALL + line).fleets[0].template
    )


@pytest.mark.parametrize("line", ["reclaim = true", 'zones = ["nl-ams-1"]', "surge = 3"])
def test_the_digest_ignores_everything_else(tmp_path: Path, line: str) -> None:
    assert (
        read(tmp_path, SMALL).fleets[0].template == read(tmp_path, SMALL + line).fleets[0].template
    )


def test_the_digest_follows_the_text_in_a_file_of_cloud_init(tmp_path: Path) -> None:
    text = SMALL + 'cloud_init_file = "init.yaml"'
    (tmp_path / "init.yaml").write_text("one")
    one = read(tmp_path, text).fleets[0].template
    (tmp_path / "init.yaml").write_text("two")
    assert read(tmp_path, text).fleets[0].template != one


@pytest.mark.parametrize(
    ("written", "place", "displayed"),
    [
        ("sqlite:///abs/web.db", "/abs/web.db", "sqlite:///abs/web.db"),
        ("sqlite:/abs/web.db", "/abs/web.db", "sqlite:///abs/web.db"),
        ("SQLite:///abs/a b%20?c.db", "/abs/a b%20?c.db", "sqlite:///abs/a b%20?c.db"),
        ("memory:", "", "memory:"),
        ("kubernetes:", "", "kubernetes:"),
        ("kubernetes:fleets", "fleets", "kubernetes:fleets"),
        ("kubernetes:a/web?context=b", "a/web?context=b", "kubernetes:a/web?context=b"),
        ("kubernetes:?kubeconfig=/a/b", "?kubeconfig=/a/b", "kubernetes:?kubeconfig=/a/b"),
    ],
)
def test_a_store_is_named_by_its_url(
    tmp_path: Path, written: str, place: str, displayed: str
) -> None:
    store = read(tmp_path, f'store = "{written}"\n{SMALL}').store
    assert (store.place, str(store)) == (place, displayed)


@pytest.mark.parametrize(
    ("written", "output"),
    [
        ("records.db", 'write store = "sqlite:records.db"'),
        ("/abs/records.db", 'write store = "sqlite:///abs/records.db"'),
        ("memory", 'write store = "memory:"'),
        ("sqlite:", '"sqlite:FILE" or "sqlite:///FOLDER/FILE"'),
        ("sqlite://web.db", '"sqlite:FILE" or "sqlite:///FOLDER/FILE"'),
        ("memory:web", '"memory:" with nothing behind it'),
        (
            "postgresql://anna:geheim@db/web",
            "sqlite: or memory: or kubernetes:",
        ),
        ("kubernetes://fleets", '"kubernetes:NAMESPACE" or "kubernetes:NAMESPACE/NAME"'),
        ("kubernetes:Fleets", '"kubernetes:NAMESPACE" or "kubernetes:NAMESPACE/NAME"'),
        ("kubernetes:fleets?user=me", "with ?context= or &kubeconfig= and not 'user'"),
        ("sqlit:web.db", "did you mean sqlite?"),
    ],
)
def test_a_store_that_cannot_be_is_refused_with_what_to_write(
    tmp_path: Path, written: str, output: str
) -> None:
    (fault,) = faults(tmp_path, f'store = "{written}"\n{SMALL}').values()
    assert fault.startswith("store = ")
    assert output in fault
    assert "geheim" not in fault


def test_a_wrong_store_is_told_beside_other_faults(tmp_path: Path) -> None:
    found = faults(tmp_path, f'store = "web.db"\n{SMALL}wrong = 1')
    assert set(found) == {"store", "fleet.web.wrong"}


def test_the_only_fleet_needs_no_name_and_several_do(tmp_path: Path) -> None:
    config = read(tmp_path, SMALL)
    assert config.fleet(None) is config.fleets[0]
    several = read(tmp_path, SMALL + '[fleet.ci]\nsize = 1\ntypes = ["DEV1-S"]')
    with pytest.raises(ConfigError, match=r"\(web, ci\): say which one") as unclear:
        several.fleet(None)
    assert unclear.value.remedy is Remedy.NAME_FLEET
    with pytest.raises(ConfigError, match="did you mean web"):
        several.fleet("wep")
    assert several.fleet("ci").size == 1


def test_examples_are_right() -> None:
    folder = Path(__file__).parents[2] / "examples"
    files = sorted(folder.glob("*.toml"))
    assert files
    for file in files:
        assert load(file, KINDS, STORES).fleets


# ------------------------------------------------------------------ what is wrong


def test_all_errors_are_shown_at_once_each_with_path_value_and_expectation(tmp_path: Path) -> None:
    found = faults(
        tmp_path,
        """
        stor = "x"
        [provider.scaleway]
        rate = "fast"
        consistency_delai = "1s"
        [fleet.web]
        size = "5"
        types = ["DEV1-S", 7]
        zones = ["fr-par-1", "paris"]
        surg = 3
        ready = { probe = "tcpp", port = 99999 }
        [fleet.web.timers]
        start = 5
        tries = ["30s", "soon"]
        [fleet.web.caps]
        share = nan
        [fleet.Web_Two]
        size = 1
        types = []
        [engine]
        lease_ttl = "0s"
        [metrics]
        listen = "everywhere"
        """,
    )
    assert set(found) == {
        "stor",
        "provider.scaleway.rate",
        "provider.scaleway.consistency_delai",
        "fleet.web.size",
        "fleet.web.types[1]",
        "fleet.web.zones[1]",
        "fleet.web.surg",
        "fleet.web.ready.probe",
        "fleet.web.ready.port",
        "fleet.web.timers.start",
        "fleet.web.timers.tries[1]",
        "fleet.web.caps.share",
        "fleet.Web_Two",
        "fleet.Web_Two.types",
        "engine.lease_ttl",
        "metrics.listen",
    }
    assert '"5"' in found["fleet.web.size"]
    assert "a whole number" in found["fleet.web.size"]
    assert "did you mean surge?" in found["fleet.web.surg"]
    assert "did you mean store?" in found["stor"]
    assert "did you mean consistency_delay?" in found["provider.scaleway.consistency_delai"]
    assert "did you mean tcp?" in found["fleet.web.ready.probe"]
    assert 'such as "fr-par-1"' in found["fleet.web.zones[1]"]


def test_a_fleet_is_checked_even_where_its_provider_is_wrong(tmp_path: Path) -> None:
    found = faults(
        tmp_path, '[provider.x]\nkind = "scalewai"\n[fleet.web]\nsize = -1\ntypes = ["DEV1-S"]'
    )
    assert set(found) == {"provider.x.kind", "fleet.web.size"}
    assert "did you mean scaleway?" in found["provider.x.kind"]


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("", "provider"),
        ("[provider.scaleway]", "fleet"),
        ("provider = 5", "provider"),
        ("provider = []", "provider"),
        ("[provider]\nscaleway = 5", "provider.scaleway"),
        ("[provider.scaleway]\n[[fleet.web]]\nsize = 1", "fleet.web"),
        (f"engine = 5\n{SMALL}", "engine"),
        (f"metrics = []\n{SMALL}", "metrics"),
        (f"{SMALL}[metrics]", "metrics.listen"),
        (f"{SMALL}provider = 'scalewey'", "fleet.web.provider"),
        (f"{SMALL}maximum = 1", "fleet.web.maximum"),
        (f"{SMALL}ready = {{ probe = 'command' }}", "fleet.web.ready.command"),
        (f"{SMALL}ready = {{ probe = 'tcp', command = ['x'] }}", "fleet.web.ready.command"),
        (f"{SMALL}ready = 'tcp'", "fleet.web.ready"),
        (f"{SMALL}volume = {{ size = '20' }}", "fleet.web.volume.size"),
        (f"{SMALL}volume = {{ size = '1500MB' }}", "fleet.web.volume.size"),
        (f"{SMALL}volumes = [{{ size = '1GB' }}, {{}}]", "fleet.web.volumes[1].size"),
        (f"{SMALL}volume = {{ size = '1GB', iops = 7 }}", "fleet.web.volume.iops"),
        (f"{SMALL}private_networks = ['x']", "fleet.web.private_networks[0]"),
        (f"{SMALL}tags = ['hostler=mine']", "fleet.web.tags[0]"),
        (f"{SMALL}tags = ['a,b']", "fleet.web.tags[0]"),
        (f"{SMALL}cloud_init_file = 'missing'", "fleet.web.cloud_init_file"),
        (f"{SMALL}cloud_init_file = '.'", "fleet.web.cloud_init_file"),
        (f"{SMALL}cloud_init_file = 'x'\ncloud_init = ''", "fleet.web.cloud_init"),
        (f"{SMALL}reclaim = 1", "fleet.web.reclaim"),
        (f"{SMALL}size.x = 1".replace("size = 2", ""), "fleet.web.size"),
        (f"{SMALL}[fleet.web.timers]\ntries = []", "fleet.web.timers.tries"),
        (
            f"{SMALL}[fleet.web.timers]\nobservation_limit = '0s'",
            "fleet.web.timers.observation_limit",
        ),
        (f"{SMALL}[fleet.web.caps]\nshare = 0", "fleet.web.caps.share"),
        (f"{SMALL}[fleet.web.caps]\nper_reclaim = 0", "fleet.web.caps.per_reclaim"),
        (f"{SMALL}[engine]\nlease_beat = '50s'", "engine.lease_beat"),
        (f"{SMALL}[engine]\nbusy_first = '1m'", "engine.busy_first"),
        (f"{SMALL}[engine]\nremember = '23h'", "engine.remember"),
        (f"{SMALL}[engine]\nremember = '101000w'", "engine.remember"),
        (f"{SMALL}[metrics]\nlisten = 'localhost:99999'", "metrics.listen"),
        (f"{SMALL}[fleet.'we b']\nsize = 1\ntypes = ['DEV1-S']", 'fleet."we b"'),
        (f"{SMALL}[fleet.'']\nsize = 1\ntypes = ['DEV1-S']", 'fleet.""'),
        (f"{SMALL}[fleet.'🐎']\nsize = 1\ntypes = ['DEV1-S']", 'fleet."🐎"'),
        (f"{SMALL}[fleet.{'a' * 41}]\nsize = 1\ntypes = ['DEV1-S']", f"fleet.{'a' * 41}"),
    ],
)
def test_one_wrong_thing_is_named_by_its_path(tmp_path: Path, text: str, path: str) -> None:
    found = faults(tmp_path, text)
    assert path in found
    assert len(found) <= 2


def test_two_providers_must_be_told_apart(tmp_path: Path) -> None:
    found = faults(tmp_path, SMALL + "[provider.second]\nkind = 'scaleway'")
    assert "one of the providers: scaleway, second" in found["fleet.web.provider"]


# ------------------------------------------------------------------ secrets


def test_a_literal_secret_is_refused_with_the_cure_and_never_shown(tmp_path: Path) -> None:
    found = faults(tmp_path, SMALL.replace("[fleet", f'secret_key = "{SECRET}"\n[fleet'))
    message = found["provider.scaleway.secret_key"]
    assert "secret_key_file" in message
    assert SECRET not in message


@pytest.mark.parametrize("key", ["secret_key_env", "secret_key_fil", "kind", "rate", "endpoint"])
def test_a_secret_in_a_wrong_place_is_not_shown(tmp_path: Path, key: str) -> None:
    found = faults(tmp_path, SMALL.replace("[fleet", f'{key} = "{SECRET}"\n[fleet'))
    assert found
    assert SECRET not in "".join(found.values())


@pytest.mark.parametrize(
    "address", ["https://me:{}@api.example", "ftp://{}@api.example/x", "me:{}@api.example"]
)
@pytest.mark.parametrize("password", ["passw0rd", "passw0rd" * 40])
def test_a_password_in_an_address_is_not_shown(tmp_path: Path, address: str, password: str) -> None:
    """Such an address is refused, and the refusal is printed, logged and put on record."""
    text = f'endpoint = "{address.format(password)}"\n[fleet'
    found = faults(tmp_path, SMALL.replace("[fleet", text))["provider.scaleway.endpoint"]
    assert "(not shown)" in found
    assert "passw0rd" not in found


# ------------------------------------------------------------------ hostile files


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\xff\xfe", "not UTF-8"),
        (b"[provider", "not valid TOML"),
        (b"a = 1\na = 2", "not valid TOML"),
        (b"a = " + b"[" * 5000, "nested too deeply|not valid TOML"),
        (b"a = " + b"9" * 5000, "not valid TOML"),
        (b"#" * 1_000_001, "larger than"),
        (b"\x00", "not valid TOML"),
        (SMALL.encode()[:-4], "not valid TOML"),
    ],
)
def test_a_hostile_file_is_a_clear_error(tmp_path: Path, content: bytes, message: str) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        read(tmp_path, content)
    assert len(str(caught.value)) < 400


def test_the_bom_that_some_editors_put_before_a_text_is_passed_over(tmp_path: Path) -> None:
    assert read(tmp_path, b"\xef\xbb\xbf" + SMALL.encode()).fleets


def test_a_huge_value_is_shown_in_short(tmp_path: Path) -> None:
    assert len(faults(tmp_path, SMALL + f"image = ['{'x' * 9000}']")["fleet.web.image"]) < 300
    huge = SMALL.replace("size = 2", f"size = {10**300}")
    assert "a huge number" in faults(tmp_path, huge)["fleet.web.size"]


def test_control_characters_are_not_printed(tmp_path: Path) -> None:
    message = faults(tmp_path, SMALL + 'provider = "\\u001b[31m\\u202e"')["fleet.web.provider"]
    assert message.isprintable() or "\x1b" not in message
    assert "\u202e" not in message


def test_missing_files_and_directories_are_clear_errors(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="there is no such file"):
        load(tmp_path / "none.toml", KINDS, STORES)
    with pytest.raises(ConfigError, match="is a directory"):
        load(tmp_path, KINDS, STORES)
    with pytest.raises(ConfigError, match="cannot be"):
        load(Path("a\0b"), KINDS, STORES)


def test_what_is_no_file_is_refused_before_it_is_opened(tmp_path: Path) -> None:
    """To open a named pipe waits for its writer, and no signal ends that."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(ConfigError, match="is a named pipe and no file"):
        load(pipe, KINDS, STORES)
    with pytest.raises(ConfigError, match="is a device"):
        load(Path("/dev/null"), KINDS, STORES)


def test_a_named_pipe_in_place_of_a_named_file_is_a_fault(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    found = faults(tmp_path, SMALL + 'cloud_init_file = "pipe"')
    assert "it is a named pipe" in found["fleet.web.cloud_init_file"]


def test_a_pipe_that_was_given_open_is_read() -> None:
    reads, writes = os.pipe()
    os.write(writes, b"store = 7")
    os.close(writes)
    try:
        with pytest.raises(WrongFile, match="store"):
            load(Path(f"/dev/fd/{reads}"), KINDS, STORES)
    finally:
        os.close(reads)


def test_a_file_that_cannot_be_read_is_a_clear_error(tmp_path: Path) -> None:
    file = tmp_path / "web.toml"
    file.write_text(SMALL)
    file.chmod(0)
    if os.geteuid() == 0:  # who may read every file cannot read this one
        file = Path("/proc/self/mem")
    with pytest.raises(ConfigError, match="cannot be read"):
        load(file, KINDS, STORES)


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=8,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=150)
@given(
    st.sampled_from(
        ["size", "types", "ready", "volume", "volumes", "timers", "caps", "provider", "tags"]
    ),
    _VALUES,
)
def test_no_value_of_any_key_is_more_than_a_clear_error(
    tmp_path: Path, key: str, value: object
) -> None:
    base = SMALL.replace("size = 2\n", "") if key == "size" else SMALL
    base = base.replace('types = ["DEV1-S"]\n', "") if key == "types" else base
    try:
        config = read(tmp_path, f"{base}{key} = {_toml(value)}")
    except ConfigError:
        return
    assert config.fleets


def _toml(value: object) -> str:
    if value is None:
        return "1979-05-27T07:32:00Z"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, list):
        return f"[{', '.join(_toml(entry) for entry in cast('list[object]', value))}]"
    if isinstance(value, dict):
        pairs = cast("dict[str, object]", value).items()
        return f"{{{', '.join(f'{_text(key)} = {_toml(entry)}' for key, entry in pairs)}}}"
    return str(value)


def _text(value: str) -> str:
    fit = (c for c in value if not 0xD800 <= ord(c) <= 0xDFFF)
    return '"' + "".join(f"\\U{ord(c):08x}" for c in fit) + '"'


@pytest.mark.parametrize(("fleet", "reclaims"), [("", True), ("reclaim = false", False)])
def test_what_the_top_says_of_reclaims_is_for_fleets_that_do_not(
    tmp_path: Path, fleet: str, reclaims: bool
) -> None:
    (made,) = read(tmp_path, f"reclaim = true\n{SMALL}{fleet}\n").fleets
    assert made.reclaim is reclaims
