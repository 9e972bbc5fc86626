"""Rendering: what Helm makes of the chart and of values, as text and as objects."""

import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import yaml

DEPLOY = Path(__file__).resolve().parent.parent.parent / "deploy"
CHART = DEPLOY / "chart"
RELEASE = ("fleet", "--namespace", "keepers", "--kube-version", "1.36.3")
VALUES = ("minimal", "homelab", "clusterctl", "components", "everything")

Manifest = dict[str, Any]
"""One object as a cluster takes it."""


class Refused(Exception):
    """Helm does not render these values; the text is its reason."""


@dataclass(frozen=True, slots=True)
class Helm:
    """Helm's own program, with a folder for its state."""

    program: Path
    home: Path

    def run(self, *arguments: str) -> str:
        """Return what it prints. Raises Refused."""
        environment = {"HOME": str(self.home), "PATH": "/usr/bin:/bin"}
        done = subprocess.run(  # noqa: S603 - the program that we built
            [self.program, *arguments], capture_output=True, text=True, env=environment, check=False
        )
        if done.returncode != 0:
            raise Refused(done.stderr)
        return done.stdout

    def template(self, *arguments: str) -> str:
        """Return the chart as a release of it would be. Raises Refused."""
        return self.run("template", RELEASE[0], str(CHART), *RELEASE[1:], *arguments)

    def objects(self, values: Mapping[str, Any] | str = "minimal") -> Sequence[Manifest]:
        """Return the objects of a set of values, or of values themselves. Raises Refused."""
        if isinstance(values, str):
            text = self.template("--values", str(DEPLOY / "values" / f"{values}.yaml"))
        else:
            path = self.home / "values.json"
            path.write_bytes(msgspec.json.encode(values))
            text = self.template("--values", str(path))
        return objects(text)


def objects(text: str) -> Sequence[Manifest]:
    """Return the objects of a stream of YAML."""
    return tuple(one for one in yaml.safe_load_all(text) if one is not None)


def of_kind(found: Sequence[Manifest], *kinds: str) -> Sequence[Manifest]:
    """Return those of some kinds."""
    return tuple(one for one in found if one["kind"] in kinds)


def one_of(found: Sequence[Manifest], kind: str, name: str = "") -> Manifest:
    """Return the only one of a kind, or the one of this name."""
    (one,) = (each for each in of_kind(found, kind) if not name or each["metadata"]["name"] == name)
    return one
