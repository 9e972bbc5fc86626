"""Doctor: the doctor of the fleeting plugin with the real adapters, and its findings printed."""

import os
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from msgspec.structs import replace

from hostler.app.compose import Composed
from hostler.app.provider_registry import KINDS
from hostler.app.store_registry import STORES, empty_store
from hostler.frontends.cli.console.exits import Exit
from hostler.frontends.cli.console.screen import Screen
from hostler.frontends.cli.context import Purpose
from hostler.frontends.fleeting.config.load import ExaminedGroup, LoadContext
from hostler.frontends.fleeting.installation.doctor import (
    Check,
    DoctorServices,
    Verdict,
    failed,
    ok,
    run_checks,
    warning,
)
from hostler.frontends.fleeting.schema.binary.processes import Process
from hostler.frontends.fleeting.schema.locations import VARIABLE
from hostler.stores.sqlite.file import is_held

_SIGNS = {
    Verdict.OK: ("✓", "green"),
    Verdict.WARNING: ("!", "yellow"),
    Verdict.FAILED: ("✗", "red"),
}


async def examine(file: Path | None, runner: str, binary: Path | None, screen: Screen) -> int:
    """Check an installation, print what is found, and return the exit code."""
    services = DoctorServices(
        context=LoadContext(
            environment=os.environ,
            folder=Path.cwd(),
            root=os.geteuid() == 0,
            kinds=KINDS,
            stores=STORES,
            held=is_held,
        ),
        schema=_schema,
        account=_account,
        store=_store,
    )
    checks = list[Check]()
    with screen.waiting("asking the provider"):
        async for check in run_checks(file, runner, binary, services):
            checks.append(check)
            if not screen.json:
                _print(check, screen)
    passed = all(check.verdict is not Verdict.FAILED for check in checks)
    if screen.json:
        screen.line({"ok": passed, "checks": [_as_json(check) for check in checks]})
    return int(Exit.OK if passed else Exit.FAILED)


def _print(check: Check, screen: Screen) -> None:
    from rich.text import Text

    from hostler.frontends.cli.console.format import clean

    sign, colour = _SIGNS[check.verdict]
    line = Text.assemble((sign, colour), " ", (clean(check.about), "bold"), ": ", clean(check.text))
    if check.cure:
        line.append(f"\n  → {clean(check.cure)}")
    screen.out.print(line)


def _as_json(check: Check) -> dict[str, object]:
    return {
        "verdict": str(check.verdict),
        "about": check.about,
        "text": check.text,
        "cure": check.cure,
    }


def _schema(binary: Path | None) -> tuple[Check, ...]:
    """Learn the schema as the plugin would, from this binary or from where the plugin looks."""
    from hostler.frontends.fleeting.schema.learn import learn

    from .inspect import here

    where = replace(here(os.environ), processes=_Nobody())
    found = learn(replace(where, choice=str(binary)) if binary is not None else where)
    if found.refusal:
        named = binary is not None or VARIABLE not in found.refusal
        cure = "" if named else "or name it here: --binary PATH"
        return (failed("schema", found.refusal, cure),)
    names = ", ".join(one.name for one in found.served)
    unsure = (line.text for line in found.log if line.level == "warning")
    return (
        ok("schema", f"{names}, learnt from {found.origin}"),
        *(warning("schema", text) for text in unsure),
    )


class _Nobody:
    """Tells of no process above: who asks the doctor is no runner."""

    def ancestors(self) -> Sequence[Process]:
        return ()


@asynccontextmanager
async def _account(group: ExaminedGroup) -> AsyncGenerator[object]:
    composed = Composed(environment=group.environment)
    async with composed.accounts(group.config, empty_store()) as accounts:
        yield accounts[0].provider


async def _store(group: ExaminedGroup) -> str:
    kind = STORES[group.config.store.scheme]
    if not kind.exists(group.config.store):
        return "no records yet"
    store = kind.open(group.config.store, Purpose.READ)
    try:
        identity = await store.identity()
        machines = await store.machines(group.config.fleets[0].name)
    finally:
        await store.close()
    return f"installation {identity.own}, {len(machines)} instances on record"
