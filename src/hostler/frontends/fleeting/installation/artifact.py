"""Artifact: where GitLab Runner looks for a plugin that is named as an OCI artifact.

Layout `<folder>/<registry>/<repository>/<version>/plugin` (reference/fleeting.md sections 1.8 and
4.2). Not verified with a runner: which versions it accepts there, and whether it wants more than
the file, is published in no source that we have.
"""

import os
import re
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from msgspec import Struct

_REGISTRY = "registry.gitlab.com"
_REPOSITORY = "gitlab-org/fleeting/plugins"
_RESOURCE = re.compile(r"[a-z0-9]+(?:[._-]+[a-z0-9]+)*")
_TAG = re.compile(r"\w[\w.-]{0,127}", re.ASCII)
_HOST = re.compile(r"[A-Za-z0-9]+(?:[.-][A-Za-z0-9]+)*(?::\d+)?")


class Artifact(Struct, frozen=True):
    """A name as the runner's `plugin` key has it, made whole."""

    registry: str
    repository: str
    version: str

    @property
    def path(self) -> PurePosixPath:
        """Where the executable lies, beneath the runner's plugin folder."""
        return PurePosixPath(self.registry, self.repository, self.version, "plugin")


def named(text: str, version: str) -> Artifact:
    """Return the artifact that `[[registry/]repository/]name[:version]` means; else ValueError."""
    name, colon, tag = text.rpartition(":")
    if not colon or "/" in tag:
        name, tag = text, version
    first, slash, rest = name.partition("/")
    hosted = bool(slash) and (first == "localhost" or "." in first or ":" in first)
    registry = first if hosted else _REGISTRY
    repository = rest if hosted else name
    if "/" not in name:
        repository = f"{_REPOSITORY}/{name}"
    resources = repository.split("/")
    if not (
        _HOST.fullmatch(registry)
        and _TAG.fullmatch(tag)
        and all(map(_RESOURCE.fullmatch, resources))
    ):
        raise ValueError(f"{text!r} is not of the form [[registry/]repository/]name[:version]")
    return Artifact(registry, repository, tag)


def plugin_folder(environment: Mapping[str, str]) -> Path:
    """Return the folder that `gitlab-runner fleeting install` fills."""
    chosen = environment.get("FLEETING_PLUGIN_PATH", "")
    return Path(chosen) if chosen else Path.home() / ".config" / "fleeting" / "plugins"


def put(executable: Path, folder: Path, artifact: Artifact) -> Path:
    """Copy the executable to its place, whole or not at all, and return that place."""
    place = folder / artifact.path
    place.parent.mkdir(parents=True, exist_ok=True)
    opened, name = tempfile.mkstemp(prefix=".plugin-", dir=place.parent)
    os.close(opened)
    try:
        shutil.copyfile(executable, name)
        Path(name).chmod(0o755)
        Path(name).replace(place)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    return place
