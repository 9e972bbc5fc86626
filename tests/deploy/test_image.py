"""The Containerfile, read: what it copies is there, and it ends as a user without rights."""

import re
import tomllib
from collections.abc import Sequence

import pytest
from rendering import DEPLOY

ROOT = DEPLOY.parent
TEXT = re.sub(r"\\\n", " ", (DEPLOY / "Containerfile").read_text())
IGNORED = (ROOT / ".dockerignore").read_text().splitlines()


def steps(verb: str) -> Sequence[str]:
    return tuple(
        line.partition(" ")[2].strip() for line in TEXT.splitlines() if line.startswith(f"{verb} ")
    )


COPIED = [
    source
    for step in steps("COPY")
    if not step.startswith("--from")
    for source in step.split()[:-1]
]


@pytest.mark.parametrize("source", COPIED)
def test_what_is_copied_is_there_and_not_ignored(source: str) -> None:
    assert (ROOT / source).exists()
    assert IGNORED[0] == "*"
    assert f"!{source.split('/', maxsplit=1)[0]}" in IGNORED


def test_what_the_wheel_is_made_of_is_copied() -> None:
    """hatchling would fail in the image, and nowhere else."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    wheel = project["tool"]["hatch"]["build"]["targets"]["wheel"]
    named = {
        *wheel["packages"],
        *wheel["force-include"],
        *project["project"]["license-files"],
        project["project"]["readme"],
    }
    assert {one for one in named if one not in COPIED and one.split("/")[0] not in COPIED} == set()


def test_it_runs_hostler_as_the_user_of_the_chart() -> None:
    (user,) = steps("USER")
    assert (
        f"runAsUser: {user.split(':')[0]}"
        in (DEPLOY / "chart" / "templates" / "_names.tpl").read_text()
    )
    assert TEXT.rindex("\nUSER") > TEXT.rindex("\nRUN")
    assert steps("ENTRYPOINT") == ('["hostler"]',)


def test_every_dependency_comes_by_its_hash() -> None:
    """From the lock; what is installed beside it brings no dependencies."""
    installs = re.findall(r"pip install ([^&\n]*)", TEXT)
    assert len(installs) == 3
    (uv,) = (one for one in installs if "uv<1" in one)
    assert all("--require-hashes" in one or "--no-deps" in one for one in installs if one != uv)
