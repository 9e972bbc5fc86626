"""Doctor: is an installation of the plugin in order, from end to end? Nothing is changed."""

import os
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager
from enum import StrEnum
from pathlib import Path

from msgspec import Struct

from hostler.config.values import WrongFile
from hostler.domain.errors import ConfigError, HostlerError
from hostler.frontends.fleeting.config.load import ExaminedGroup, LoadContext, examine_group
from hostler.frontends.fleeting.config.state import STORE
from hostler.ports.online import ChecksOnline, Examines, Finding, Wanted

from .runner_file import Runner, read_runner


class Verdict(StrEnum):
    """How one check went."""

    OK = "ok"
    WARNING = "warning"
    FAILED = "failed"


class Check(Struct, frozen=True, kw_only=True):
    """One check: its subject, its verdict, and what to do where it is not OK."""

    verdict: Verdict
    about: str
    text: str
    cure: str = ""


def ok(about: str, text: str) -> Check:
    """Return that something is in order."""
    return Check(verdict=Verdict.OK, about=about, text=text)


def warning(about: str, text: str, cure: str = "") -> Check:
    """Return that something works now, and may not later."""
    return Check(verdict=Verdict.WARNING, about=about, text=text, cure=cure)


def failed(about: str, text: str, cure: str = "") -> Check:
    """Return that the plugin would not work."""
    return Check(verdict=Verdict.FAILED, about=about, text=text, cure=cure)


class DoctorServices(Struct, frozen=True, kw_only=True):
    """What the doctor needs from the rest of the program.

    `schema` checks what can be learnt from a runner's binary (None: the one that is found);
    `account` opens a group's account; `store` tells of the records in words, or raises StoreError.
    """

    context: LoadContext
    schema: Callable[[Path | None], tuple[Check, ...]]
    account: Callable[[ExaminedGroup], AbstractAsyncContextManager[object]]
    store: Callable[[ExaminedGroup], Awaitable[str]]


async def run_checks(
    file: Path | None, name: str, binary: Path | None, services: DoctorServices
) -> AsyncIterator[Check]:
    """Go through all checks, one result after the other; what depends on a failed one is left out.

    Without a `file` only the runner's binary is examined.
    """
    for check in services.schema(binary):
        yield check
    if file is None:
        return
    try:
        runner = read_runner(file, name)
    except ConfigError as error:
        yield failed("runner's file", str(error), "name the config.toml of GitLab Runner")
        return
    for check in _runner(runner):
        yield check
    try:
        group = examine_group(runner.content, runner.connector, services.context)
    except WrongFile as error:
        for fault in error.faults:
            found = f"{fault.value}: " if fault.value else ""
            yield failed(fault.path, f"{found}expected {fault.expected}", fault.hint)
        return
    except ConfigError as error:
        yield failed("plugin_config", str(error).removeprefix("plugin_config: "))
        return
    async for check in _group(group, runner, services):
        yield check


def _runner(runner: Runner) -> Iterator[Check]:
    """Check what the runner would start, and its own settings."""
    if runner.plugin:
        yield _plugin(runner.plugin)
    for hint in runner.hints:
        yield warning("runner's settings", hint)


def _plugin(named: str) -> Check:
    found = shutil.which(named)
    if found is None:
        cure = "install it on the PATH of the runner's service, or write its absolute path"
        return failed("plugin", f"there is no executable {named!r} on the PATH here", cure)
    return ok("plugin", found)


async def _group(
    group: ExaminedGroup, runner: Runner, services: DoctorServices
) -> AsyncIterator[Check]:
    fleet = group.config.fleets[0]
    yield ok("plugin_config", f"group {fleet.name}, at most {group.max_size} instances")
    if runner.most > group.max_size:
        text = f"max_instances is {runner.most}, and the group's max_size {group.max_size}"
        yield warning("size", text, "raise max_size in plugin_config")
    yield await _state(group, services)
    yield _key(group)
    try:
        async with services.account(group) as provider:
            for check in await _online(group, provider):
                yield check
    except HostlerError as error:
        yield failed("provider", str(error))


async def _state(group: ExaminedGroup, services: DoctorServices) -> Check:
    if not group.state.exists():
        return ok("state folder", f"{group.state} will be made")
    if not os.access(group.state, os.W_OK | os.X_OK):
        cure = "run this as the runner's user, or let that user write there"
        return failed("state folder", f"{group.state} cannot be written", cure)
    try:
        records = await services.store(group)
    except HostlerError as error:
        return failed("state folder", str(error))
    held = services.context.held(group.state / STORE)
    return ok("state folder", f"{group.state}: {records}{'; a plugin uses it now' if held else ''}")


def _key(group: ExaminedGroup) -> Check:
    if group.key is None:
        return ok("ssh key", "will be made at the first start")
    return ok("ssh key", group.key.public.split()[0])


async def _online(group: ExaminedGroup, provider: object) -> tuple[Check, ...]:
    """Ask the provider about all that the group needs of it."""
    fleet = group.config.fleets[0]
    found = list[Finding]()
    if isinstance(provider, ChecksOnline):
        found += await provider.check_online({fleet.name: fleet.offers})
    if found and not any(finding.well for finding in found):
        return tuple(failed(finding.about, finding.text) for finding in found)
    if isinstance(provider, Examines):
        wanted = {fleet.name: Wanted(offers=fleet.offers, most=group.max_size)}
        public = group.key.public if group.key else ""
        found += await provider.examine(wanted, public, group.organization)
    checks = [_of_finding(finding) for finding in found]
    if not group.organization:
        cure = "set organization in plugin_config, or SCW_DEFAULT_ORGANIZATION_ID"
        checks.append(warning("quotas", "cannot be asked for without an organization", cure))
    return tuple(checks)


def _of_finding(finding: Finding) -> Check:
    if finding.well:
        return ok(finding.about, finding.text)
    verdict = failed if finding.lasting else warning
    return verdict(finding.about, finding.text)
