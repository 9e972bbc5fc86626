"""The doctor: every check in a line, with its cure, and nothing made."""

import json
import os
import stat
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from hostler.app.provider_registry import KINDS
from hostler.app.store_registry import STORES
from hostler.domain.errors import ConfigError, StoreError
from hostler.domain.ids import FleetName
from hostler.domain.model.machine import Offer
from hostler.frontends.fleeting.config.load import ExaminedGroup, LoadContext
from hostler.frontends.fleeting.installation.doctor import (
    Check,
    DoctorServices,
    Verdict,
    failed,
    ok,
    run_checks,
)
from hostler.frontends.fleeting.ssh_key import stored_pair
from hostler.ports.online import Wanted

SMALL: Mapping[str, object] = {
    "name": "ci",
    "server_type": "DEV1-S",
    "secret_key": "5ec5ec5e-0000-4000-8000-5ec5ec5ec5ec",
    "project": "22222222-2222-2222-2222-222222222222",
    "organization": "22222222-2222-2222-2222-222222222222",
}


@dataclass(frozen=True, slots=True)
class Found:
    well: bool
    about: str
    text: str
    lasting: bool = False


@dataclass(slots=True)
class Cloud:
    """A provider that finds what it is told to find, and keeps what it was asked."""

    online: tuple[Found, ...] = (Found(True, "fr-par-1", "answers"),)
    more: tuple[Found, ...] = ()
    asked: list[object] = field(default_factory=list[object])

    async def check_online(
        self, offers: Mapping[FleetName, tuple[Offer, ...]]
    ) -> tuple[Found, ...]:
        self.asked.append(offers)
        return self.online

    async def examine(
        self, fleets: Mapping[FleetName, Wanted], public: str, organization: str
    ) -> tuple[Found, ...]:
        self.asked += [fleets[FleetName("ci")].most, public, organization]
        return self.more


@dataclass(slots=True)
class Place:
    """A folder with a runner's file in it, a provider, and a store."""

    folder: Path
    cloud: Cloud = field(default_factory=Cloud)
    schema: tuple[Check, ...] = (ok("schema", "proto.Fleeting"),)
    trouble: Exception | None = None
    held: bool = False

    async def checks(self, message: Mapping[str, object], text: str = "") -> dict[str, Check]:
        file = self.folder / "config"
        file.write_text(text or json.dumps(message))
        context = LoadContext(
            environment={"HOSTLER_STATE_DIR": str(self.folder / "state"), "PATH": os.defpath},
            folder=self.folder,
            root=False,
            kinds=KINDS,
            stores=STORES,
            held=lambda _: self.held,
        )
        services = DoctorServices(
            context=context, schema=lambda _: self.schema, account=self._account, store=self._store
        )
        found = [check async for check in run_checks(file, "", None, services)]
        assert len({check.about for check in found}) == len(found)
        return {check.about: check for check in found}

    @asynccontextmanager
    async def _account(self, group: ExaminedGroup) -> AsyncGenerator[object]:
        if isinstance(self.trouble, ConfigError):
            raise self.trouble
        assert group.environment["SCW_SECRET_KEY"] == SMALL["secret_key"]
        yield self.cloud

    async def _store(self, group: ExaminedGroup) -> str:
        if isinstance(self.trouble, StoreError):
            raise self.trouble
        return f"records at {group.config.store.path.name}"


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def verdicts(checks: Mapping[str, Check]) -> dict[str, Verdict]:
    return {about: check.verdict for about, check in checks.items()}


async def test_an_installation_in_order_has_nothing_but_ok_and_nothing_is_made(
    place: Place,
) -> None:
    checks = await place.checks(SMALL)
    assert set(verdicts(checks).values()) == {Verdict.OK}
    assert list(checks) == ["schema", "plugin_config", "state folder", "ssh key", "fr-par-1"]
    assert "will be made" in checks["state folder"].text
    assert [file.name for file in place.folder.iterdir()] == ["config"]
    assert place.cloud.asked[1:] == [100, "", SMALL["organization"]]


async def test_every_fault_of_the_config_is_a_line_with_its_cure(place: Place) -> None:
    checks = await place.checks({**SMALL, "imagee": 1, "token": "x", "zone": "paris"})
    assert verdicts(checks) == {
        "schema": Verdict.OK,
        "plugin_config.imagee": Verdict.FAILED,
        "plugin_config.token": Verdict.FAILED,
        "plugin_config.zone": Verdict.FAILED,
    }
    assert checks["plugin_config.imagee"].cure == "did you mean image?"
    assert place.cloud.asked == []


async def test_a_json_file_that_cannot_be_read_is_a_line_that_names_the_place_once(
    place: Place,
) -> None:
    checks = await place.checks({}, '{"name": }')
    assert checks["plugin_config"].verdict is Verdict.FAILED
    assert checks["plugin_config"].text.startswith("not valid JSON:")


async def test_a_schema_that_is_refused_does_not_hide_the_rest(place: Place) -> None:
    place.schema = (failed("schema", "refused", "an override"),)
    checks = await place.checks(SMALL)
    assert checks["schema"].verdict is Verdict.FAILED
    assert checks["fr-par-1"].verdict is Verdict.OK


async def test_what_the_provider_finds_is_judged_by_whether_it_lasts(place: Place) -> None:
    place.cloud.online += (Found(False, "stock", "shortage"),)
    place.cloud.more = (Found(False, "network", "is not there", lasting=True),)
    output = verdicts(await place.checks(SMALL))
    assert (output["stock"], output["network"]) == (Verdict.WARNING, Verdict.FAILED)


async def test_a_provider_that_says_nothing_good_fails_and_is_asked_no_more(place: Place) -> None:
    place.cloud.online = (Found(False, "fr-par-1", "cannot be listed"),)
    checks = await place.checks(SMALL)
    assert checks["fr-par-1"].verdict is Verdict.FAILED
    assert len(place.cloud.asked) == 1


async def test_quotas_that_cannot_be_read_are_a_warning(place: Place) -> None:
    message = {key: value for key, value in SMALL.items() if key != "organization"}
    checks = await place.checks(message)
    assert checks["quotas"].verdict is Verdict.WARNING
    assert "SCW_DEFAULT_ORGANIZATION_ID" in checks["quotas"].cure


async def test_the_key_and_the_records_that_exist_are_shown(place: Place) -> None:
    state = place.folder / "state" / "fleeting" / "ci"
    state.mkdir(parents=True)
    pair = stored_pair(state)
    place.held = True
    checks = await place.checks(SMALL)
    assert checks["ssh key"].text == "ssh-ed25519"
    assert checks["state folder"].text.endswith("records at hostler.db; a plugin uses it now")
    assert place.cloud.asked[2] == pair.public


async def test_a_damaged_key_fails(place: Place) -> None:
    state = place.folder / "state" / "fleeting" / "ci"
    state.mkdir(parents=True)
    (state / "id_ed25519").write_text("rubbish")
    checks = await place.checks(SMALL)
    assert checks["plugin_config"].verdict is Verdict.FAILED
    assert "bring it back from a backup" in checks["plugin_config"].text


@pytest.mark.parametrize(
    ("trouble", "about"),
    [(StoreError("damaged"), "state folder"), (ConfigError("no secret"), "provider")],
)
async def test_trouble_of_store_and_account_is_a_line(
    place: Place, trouble: Exception, about: str
) -> None:
    (place.folder / "state" / "fleeting" / "ci").mkdir(parents=True)
    place.trouble = trouble
    assert (await place.checks(SMALL))[about].verdict is Verdict.FAILED


async def test_a_state_folder_that_cannot_be_made_fails(place: Place) -> None:
    (place.folder / "state").write_text("a file")
    checks = await place.checks(SMALL)
    assert "Not a directory" in checks["plugin_config.state_dir"].text


def runner(plugin: str, most: int = 500) -> str:
    keys = "\n".join(f"{key} = {json.dumps(value)}" for key, value in SMALL.items())
    return (
        f'[[runners]]\nname = "one"\n[runners.autoscaler]\nplugin = "{plugin}"\n'
        f"max_instances = {most}\n[runners.autoscaler.plugin_config]\n{keys}\n"
    )


async def test_the_runners_own_settings_are_checked(place: Place) -> None:
    plugin = place.folder / "fleeting-plugin-hostler"
    plugin.write_text("#!/bin/sh\n")
    plugin.chmod(stat.S_IRWXU)
    checks = await place.checks({}, runner(str(plugin)))
    assert checks["plugin"] == ok("plugin", str(plugin))
    assert checks["size"].verdict is Verdict.WARNING
    assert "state_storage" in checks["runner's settings"].text


async def test_a_plugin_that_is_not_installed_fails(place: Place) -> None:
    checks = await place.checks({}, runner("fleeting-plugin-hostler-of-nowhere"))
    assert checks["plugin"].verdict is Verdict.FAILED


async def test_a_file_that_is_no_runners_fails(place: Place) -> None:
    checks = await place.checks({}, "nothing = 1")
    assert verdicts(checks) == {"schema": Verdict.OK, "runner's file": Verdict.FAILED}
