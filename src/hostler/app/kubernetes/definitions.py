"""Definitions: those of our kinds printed, or applied to a cluster."""

import os
import sys
from datetime import timedelta
from pathlib import Path

import yaml

from hostler.app.clock import SystemClock
from hostler.app.provider_registry import KINDS
from hostler.frontends.cli.console.exits import Exit
from hostler.frontends.cli.console.screen import Screen
from hostler.frontends.kubernetes.connecting import Target, connected
from hostler.frontends.kubernetes.definitions.manifests import manifests
from hostler.frontends.kubernetes.install import Installed, as_list, install, wait_established

PATIENCE = timedelta(seconds=60)


class _Dumper(yaml.SafeDumper):
    """Writes what occurs twice twice: references are hard to read."""

    def ignore_aliases(self, data: object) -> bool:
        """Have no references."""
        del data
        return True


async def show_definitions(screen: Screen) -> int:
    """Print every definition, as YAML or as one list in JSON; return the exit code."""
    found = manifests(KINDS)
    if screen.json:
        screen.line(as_list(found))
        return int(Exit.OK)
    documents = yaml.dump_all(found, Dumper=_Dumper, sort_keys=False, width=100, allow_unicode=True)
    sys.stdout.write(documents)
    return int(Exit.OK)


async def install_definitions(
    kubeconfig: Path | None, context: str | None, screen: Screen, *, dry_run: bool
) -> int:
    """Apply every definition, and wait until the cluster serves them; return the exit code."""
    clock, done = SystemClock(), list[Installed]()
    target = Target(kubeconfig=kubeconfig, context=context)
    async with connected(target, os.environ, clock) as cluster:
        screen.note(f"{cluster.origin}" + (" (nothing is changed)" if dry_run else ""))
        async for one in install(cluster.client, manifests(KINDS), dry_run=dry_run):
            screen.note(f"{one.name}: {one.change}")
            done.append(one)
        if not dry_run:
            with screen.waiting("waiting until the cluster serves them"):
                names = [one.name for one in done]
                await wait_established(cluster.client, clock, names, PATIENCE)
    value = {"installed": {one.name: str(one.change) for one in done}, "dry_run": dry_run}
    screen.show("would be installed" if dry_run else "installed, and served", value)
    return int(Exit.OK)
