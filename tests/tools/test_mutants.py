"""The mutation tool breaks a copy of the code, tells who notices, and leaves the tree as it is."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from runpy import run_path

import pytest

SCRIPT = Path(__file__).parents[2] / "tools" / "mutants.py"
CODE = '''"""A module."""


def is_old(age: int, limit: int = 3) -> bool:
    """Tell."""
    return age >= limit and age != 7
'''
MAIN = """import json
import sys

from hostler.domain.ages import is_old


def main() -> None:
    print(json.dumps({"seeds": int(sys.argv[-1])}))
    sys.exit(0 if is_old(3) else 1)
"""
TEST = """from hostler.domain.ages import is_old


def test_ages() -> None:
    assert is_old(3)
    assert not is_old(2)
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    files = {
        "src/hostler/__init__.py": "",
        "src/hostler/app/__init__.py": "",
        "src/hostler/app/main.py": MAIN,
        "src/hostler/domain/__init__.py": "",
        "src/hostler/domain/ages.py": CODE,
        "tests/domain/test_ages.py": TEST,
    }
    (tmp_path / "tools").mkdir()
    shutil.copy(SCRIPT, tmp_path / "tools")
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    for command in (("git", "init", "-q"), ("git", "add", ".")):
        subprocess.run(command, cwd=tmp_path, check=True)  # noqa: S603 - a project of our own
    return tmp_path


@pytest.mark.parametrize(
    ("path", "providers"),
    [
        ("providers/scaleway/macs/plan/read.py", ("macs",)),
        ("providers/scaleway/instances/plan/create.py", ("instances", "fleeting")),
        ("domain/hosts/idle.py", ("macs", "metal", "power")),
        ("domain/decide.py", ("instances", "metal", "macs", "power", "fleeting")),
    ],
)
def test_seeds_of_those_providers_are_run_that_work_with_a_file(
    path: str, providers: tuple[str, ...]
) -> None:
    source = Path("src/hostler")
    assert (SCRIPT.parents[1] / source / path).is_file()
    assert run_path(str(SCRIPT))["providers_of"](source / path) == providers


def run(project: Path, *options: str) -> str:
    command = (sys.executable, project / "tools" / "mutants.py", "--only", "domain/*.py", *options)
    return subprocess.run(  # noqa: S603 - our own script
        command, capture_output=True, text=True, check=True
    ).stdout


def test_what_may_be_broken_is_listed_without_docstrings_and_annotations(project: Path) -> None:
    listed = {line.partition("  ")[2] for line in run(project, "--list").splitlines()}
    assert listed == {
        "3  ->  (4)",
        "7  ->  (8)",
        "age >= limit  ->  (age > limit)",
        "age != 7  ->  (age == 7)",
        "age >= limit and age != 7  ->  (age >= limit or age != 7)",
        "age >= limit and age != 7  ->  (age >= limit)",
        "age >= limit and age != 7  ->  (age != 7)",
    }


@pytest.mark.timeout(300)
def test_who_notices_is_told_and_the_tree_stays_as_it_is(project: Path) -> None:
    lines = [json.loads(line) for line in run(project, "--json").splitlines()]
    survivors = {row["after"] for row in lines if row["noticed"] is None}
    assert survivors == {"(8)", "(age >= limit)"}
    assert len(lines) == 7
    assert (project / "src/hostler/domain/ages.py").read_text() == CODE


@pytest.mark.timeout(300)
def test_the_simulation_alone_is_asked_and_what_does_not_run_is_no_proof(project: Path) -> None:
    """It was started in a way that ran nothing, so that every mutant survived."""
    lines = [json.loads(line) for line in run(project, "--json", "--simulation").splitlines()]
    noticed = {row["after"] for row in lines if row["noticed"] == "simulation: instances"}
    assert noticed == {"(4)", "(age > limit)", "(age == 7)"}
    (project / "src/hostler/app/main.py").write_text("def main() -> None: ...")
    with pytest.raises(subprocess.CalledProcessError):
        run(project, "--simulation")
