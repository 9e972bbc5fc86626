"""The Secret of a Machine's bootstrap data: what decisions learn of it, and what is read of it."""

import base64

import msgspec
import pytest
from msgspec.structs import replace
from view_kit import BOOTSTRAP, WORKERS, condition, grows, machine, ready, view

from hostler.domain.ids import Epoch
from hostler.domain.model.calls import Shows
from hostler.domain.model.capabilities import Cleaning, HostCapabilities, Ownership
from hostler.domain.model.fleet import Probe, ProbeKind
from hostler.domain.model.machine import Asked, BootstrapFormat, Machine, MachineSpec
from hostler.domain.model.phases import Phase, Reason
from hostler.domain.model.provider import Capabilities
from hostler.domain.model.resource import Slot
from hostler.frontends.kubernetes.clusterapi.bootstrap import (
    BootstrapPlace,
    BootstrapSecrets,
    examined,
)
from hostler.frontends.kubernetes.clusterapi.decision import decide
from hostler.frontends.kubernetes.clusterapi.objects import SECRETS
from hostler.frontends.kubernetes.clusterapi.reasons import TERMINAL, ReadyReason
from hostler.frontends.kubernetes.clusterapi.standing import Standing
from hostler.kubernetes.errors import ApiError, Forbidden, NotFound, Unavailable
from hostler.kubernetes.objects import Key, M
from hostler.kubernetes.resources import Resource
from hostler.ports.bootstrap import BootstrapRefused, BootstrapUnavailable
from hostler.testing.scenes.builders import BEGIN

KEY = Key("fleet", "w-1")
PLACE = "secret/fleet/w-1"
CONFIG = "#cloud-config\nruncmd: [kubeadm join --token s3cret]\n"


class Api:
    """A server with one Secret, or an error in its place."""

    def __init__(self, error: ApiError | None = None, /, **data: str) -> None:
        self.error, self.data = error, data

    async def get(self, resource: Resource[M], key: Key) -> M:
        if self.error is not None:
            raise self.error
        encoded = {k: base64.b64encode(v.encode()).decode() for k, v in self.data.items()}
        raw = {"metadata": {"name": key.name, "namespace": key.namespace}, "data": encoded}
        return msgspec.convert(raw, type=resource.model)


# ---------------------------------------------------------------- what decisions learn


@pytest.mark.parametrize("data", [{"value": CONFIG}, {"value": CONFIG, "format": "cloud-config"}])
async def test_data_without_a_format_is_a_cloud_config(data: dict[str, str]) -> None:
    assert await examined(Api(**data), KEY) == BootstrapPlace(place=PLACE)


async def test_a_shell_script_is_told_apart() -> None:
    found = await examined(Api(value="#!/bin/sh\ntrue\n"), KEY)
    assert found == BootstrapPlace(place=PLACE, format=BootstrapFormat.SCRIPT)


@pytest.mark.parametrize("word", ["", "cloud-config", "script"])
async def test_a_script_is_known_by_its_first_line(word: str) -> None:
    found = await examined(Api(value="#!/bin/sh\ntrue\n", format=word), KEY)
    assert found == BootstrapPlace(place=PLACE, format=BootstrapFormat.SCRIPT)


@pytest.mark.parametrize("value", ["", " \n"])
async def test_empty_data_leaves_the_setup_to_the_fleet(value: str) -> None:
    assert await examined(Api(value=value), KEY) == BootstrapPlace()


@pytest.mark.parametrize("api", [Api(NotFound("gone")), Api(), Api(format="cloud-config")])
async def test_a_secret_without_data_is_not_there_yet(api: Api) -> None:
    assert await examined(api, KEY) is None


@pytest.mark.parametrize("word", ["ignition", "talos"])
async def test_another_format_is_refused_by_a_condition_that_names_it(word: str) -> None:
    found = await examined(Api(value=CONFIG, format=word), KEY)
    decision = decide(view(bootstrap=found))
    assert decision.act is None
    assert condition(decision).reason == ReadyReason.BOOTSTRAP_UNSUPPORTED
    assert ReadyReason.BOOTSTRAP_UNSUPPORTED in TERMINAL
    assert f"is {word!r}" in condition(decision).message
    assert "s3cret" not in condition(decision).message


async def test_a_secret_that_may_not_be_read_says_which_right_is_missing() -> None:
    found = await examined(Api(Forbidden("get secrets: grant it by this Role")), KEY)
    decision = decide(view(bootstrap=found))
    assert condition(decision).reason == ReadyReason.BOOTSTRAP_UNREADABLE
    assert "grant it by this Role" in condition(decision).message


async def test_a_server_that_does_not_answer_is_no_answer() -> None:
    with pytest.raises(Unavailable):
        await examined(Api(Unavailable("no route")), KEY)


async def test_a_machine_is_asked_for_with_the_place_alone() -> None:
    script = replace(BOOTSTRAP, format=BootstrapFormat.SCRIPT)
    assert grows(decide(view(bootstrap=script))).spec == MachineSpec(
        bootstrap="secret/fleet/data", bootstrap_format=BootstrapFormat.SCRIPT
    )


@pytest.mark.parametrize(
    ("taken", "reason", "why"),
    [
        (
            frozenset[BootstrapFormat](),
            ReadyReason.FLEET_UNSUITABLE,
            "have no bootstrap data of their own",
        ),
        (
            frozenset({BootstrapFormat.SCRIPT}),
            ReadyReason.BOOTSTRAP_UNSUPPORTED,
            "a shell script, which begins with #!",
        ),
    ],
)
async def test_a_fleet_whose_machines_cannot_have_the_data_is_not_asked(
    taken: frozenset[BootstrapFormat], reason: ReadyReason, why: str
) -> None:
    capabilities = Capabilities(bootstraps=taken)
    decision = decide(view(standing=Standing(fleet=WORKERS, capabilities=capabilities)))
    assert decision.act is None
    assert condition(decision).reason == reason
    assert reason in TERMINAL
    assert why in condition(decision).message


@pytest.mark.parametrize("kind", ProbeKind)
async def test_a_script_is_run_by_ssh_so_that_a_fleet_of_hosts_must_log_in(kind: ProbeKind) -> None:
    fleet = replace(WORKERS, probe=Probe(kind=kind))
    hosts = HostCapabilities(ownership=Ownership.TAGS, cleaning=Cleaning.TRUSTED)
    capabilities = Capabilities(hosts=hosts, bootstraps=frozenset({BootstrapFormat.SCRIPT}))
    script = replace(BOOTSTRAP, format=BootstrapFormat.SCRIPT)
    standing = Standing(fleet=fleet, capabilities=capabilities)
    decision = decide(view(standing=standing, bootstrap=script))
    if kind is ProbeKind.SSH:
        assert grows(decision).spec.bootstrap == "secret/fleet/data"
        return
    assert condition(decision).reason == ReadyReason.FLEET_UNSUITABLE
    assert 'probe = "ssh"' in condition(decision).message


async def test_a_fleet_without_bootstrap_data_is_asked_where_the_data_is_empty() -> None:
    standing = Standing(fleet=WORKERS, capabilities=Capabilities())
    assert grows(decide(view(standing=standing, bootstrap=BootstrapPlace())))


# ---------------------------------------------------------------- a start that fails for it


def starting(**changes: object) -> Machine:
    """Return a machine on its way whose last call was refused for want of its data."""
    error = "server.user_data: the Secret fleet/w-1 with the bootstrap data is gone"
    begun = machine(Phase.STARTING, spec=MachineSpec(bootstrap=PLACE), error=error)
    return replace(begun, **changes)


async def test_data_that_is_gone_before_the_first_boot_is_told_by_a_condition() -> None:
    decision = decide(ready(machine=starting(), bootstrap=None))
    assert condition(decision).reason == ReadyReason.BOOTSTRAP_MISSING
    assert "not there any more" in condition(decision).message
    assert decision.again is not None


async def test_data_whose_format_changed_before_the_first_boot_is_told_too() -> None:
    foreign = await examined(Api(value=CONFIG, format="ignition"), KEY)
    decision = decide(ready(machine=starting(), bootstrap=foreign))
    assert condition(decision).reason == ReadyReason.BOOTSTRAP_UNSUPPORTED


async def test_a_start_that_goes_well_does_not_ask_for_the_secret() -> None:
    assert not ready(machine=starting(error="")).needs_bootstrap
    assert not ready(machine=starting(spec=MachineSpec())).needs_bootstrap
    assert ready(machine=starting()).needs_bootstrap


async def test_what_was_switched_on_needs_the_secret_no_more() -> None:
    power = Asked(
        kind="server.poweron",
        slot=Slot("server"),
        attempt=1,
        at=BEGIN,
        epoch=Epoch(1),
        shows=Shows.POWER,
    )
    seen = ready(machine=starting(asked=(power,)), bootstrap=None)
    assert not seen.needs_bootstrap
    assert condition(decide(seen)).reason == ReadyReason.PROVISIONING


async def test_another_trouble_is_told_where_the_secret_is_there() -> None:
    stopping = starting(phase=Phase.STOPPING, reason=Reason.REFUSED)
    decision = decide(ready(machine=stopping, bootstrap=BOOTSTRAP))
    assert condition(decision).reason == ReadyReason.RETRYING


# ---------------------------------------------------------------- what is read for a machine


async def test_the_data_is_read_by_its_place() -> None:
    assert await BootstrapSecrets(Api(value=CONFIG)).read(PLACE) == CONFIG.encode()


@pytest.mark.parametrize(
    ("secrets", "why"),
    [
        (BootstrapSecrets(), "speaks to no cluster"),
        (BootstrapSecrets(Api(NotFound(""))), "the Secret fleet/w-1 .* is gone"),
        (BootstrapSecrets(Api()), "has no key `value`"),
        (BootstrapSecrets(Api(value=" ")), "has no bootstrap data any more"),
        (BootstrapSecrets(Api(Unavailable("no route"))), "cannot be read: no route"),
    ],
)
async def test_data_that_cannot_be_read_now_may_be_later(
    secrets: BootstrapSecrets, why: str
) -> None:
    with pytest.raises(BootstrapUnavailable, match=why):
        await secrets.read(PLACE)


async def test_a_place_of_another_sort_is_no_secret() -> None:
    with pytest.raises(BootstrapUnavailable):
        await BootstrapSecrets(Api(value=CONFIG)).read("file/fleet/w-1")


async def test_data_of_another_format_is_refused_for_good() -> None:
    with pytest.raises(BootstrapRefused, match="ignition"):
        await BootstrapSecrets(Api(value=CONFIG, format="ignition")).read(PLACE)


async def test_a_secret_does_not_show_itself() -> None:
    api = Api(value=CONFIG)
    text = repr((await examined(api, KEY), await api.get(SECRETS, KEY)))
    assert "s3cret" not in text
    assert base64.b64encode(CONFIG.encode()).decode() not in text
