"""Doctor: is an installation of the plugin in order, from end to end? Nothing is changed."""

import os
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from hostler.config.values import WrongFile
from hostler.domain.errors import ConfigError, HostlerError
from hostler.frontends.fleeting.config.load import Examined, Surroundings, examine_group
from hostler.frontends.fleeting.config.state import STORE
from hostler.ports.online import ChecksOnline, Examines, Finding, Wanted

from .runner_file import Runner, read_runner


class Verdict(StrEnum):
    """How one check went."""

    OK = "ok"
    WARNING = "warning"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """One check: what was looked at, how it stands, and what to do where it is not in order."""

    verdict: Verdict
    about: str
    text: str
    cure: str = ""


def ok(about: str, text: str) -> Checked:
    """Return that something is in order."""
    return Checked(verdict=Verdict.OK, about=about, text=text)


def warning(about: str, text: str, cure: str = "") -> Checked:
    """Return that something works now, and may not later."""
    return Checked(verdict=Verdict.WARNING, about=about, text=text, cure=cure)


def failed(about: str, text: str, cure: str = "") -> Checked:
    """Return that the plugin would not work."""
    return Checked(verdict=Verdict.FAILED, about=about, text=text, cure=cure)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outside:
    """What the doctor needs from the rest of the program.

    `schema` checks what can be learnt from a runner's binary (None: the one that is found);
    `account` opens a group's account; `store` tells of the records in words, or raises StoreError.
    """

    around: Surroundings
    schema: Callable[[Path | None], tuple[Checked, ...]]
    account: Callable[[Examined], AbstractAsyncContextManager[object]]
    store: Callable[[Examined], Awaitable[str]]


async def examined(
    file: Path | None, name: str, binary: Path | None, outside: Outside
) -> AsyncIterator[Checked]:
    """Go through all checks, one result after the other; what depends on a failed one is left out.

    Without a `file` only the runner's binary is looked at.
    """
    for checked in outside.schema(binary):
        yield checked
    if file is None:
        return
    try:
        runner = read_runner(file, name)
    except ConfigError as error:
        yield failed("runner's file", str(error), "name the config.toml of GitLab Runner")
        return
    for checked in _runner(runner):
        yield checked
    try:
        group = examine_group(runner.content, runner.connector, outside.around)
    except WrongFile as error:
        for fault in error.faults:
            found = f"{fault.value}: " if fault.value else ""
            yield failed(fault.path, f"{found}expected {fault.expected}", fault.hint)
        return
    except ConfigError as error:
        yield failed("plugin_config", str(error).removeprefix("plugin_config: "))
        return
    async for checked in _group(group, runner, outside):
        yield checked


def _runner(runner: Runner) -> Iterator[Checked]:
    """Check what the runner would start, and its own settings."""
    if runner.plugin:
        yield _plugin(runner.plugin)
    for hint in runner.hints:
        yield warning("runner's settings", hint)


def _plugin(named: str) -> Checked:
    found = shutil.which(named)
    if found is None:
        cure = "install it on the PATH of the runner's service, or write its absolute path"
        return failed("plugin", f"there is no executable {named!r} on the PATH here", cure)
    return ok("plugin", found)


async def _group(group: Examined, runner: Runner, outside: Outside) -> AsyncIterator[Checked]:
    fleet = group.config.fleets[0]
    yield ok("plugin_config", f"group {fleet.name}, at most {group.max_size} instances")
    if runner.most > group.max_size:
        text = f"max_instances is {runner.most}, and the group's max_size {group.max_size}"
        yield warning("size", text, "raise max_size in plugin_config")
    yield await _state(group, outside)
    yield _key(group)
    try:
        async with outside.account(group) as provider:
            for checked in await _online(group, provider):
                yield checked
    except HostlerError as error:
        yield failed("provider", str(error))


async def _state(group: Examined, outside: Outside) -> Checked:
    if not group.state.exists():
        return ok("state folder", f"{group.state} will be made")
    if not os.access(group.state, os.W_OK | os.X_OK):
        cure = "run this as the runner's user, or let that user write there"
        return failed("state folder", f"{group.state} cannot be written", cure)
    try:
        told = await outside.store(group)
    except HostlerError as error:
        return failed("state folder", str(error))
    held = outside.around.held(group.state / STORE)
    return ok("state folder", f"{group.state}: {told}{'; a plugin runs on it now' if held else ''}")


def _key(group: Examined) -> Checked:
    if group.key is None:
        return ok("ssh key", "will be made at the first start")
    return ok("ssh key", group.key.public.split()[0])


async def _online(group: Examined, provider: object) -> tuple[Checked, ...]:
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
    checks = [_told(finding) for finding in found]
    if not group.organization:
        cure = "set organization in plugin_config, or SCW_DEFAULT_ORGANIZATION_ID"
        checks.append(warning("quotas", "cannot be asked for without an organization", cure))
    return tuple(checks)


def _told(finding: Finding) -> Checked:
    if finding.well:
        return ok(finding.about, finding.text)
    verdict = failed if finding.lasting else warning
    return verdict(finding.about, finding.text)
