"""The mutation tool breaks a copy of the code, tells who notices, and leaves the tree as it is."""

import ast
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
PROVIDERS = """from types import SimpleNamespace

NAMES = ("instances", "metal", "macs", "power", "fleeting")
PROVIDERS = dict.fromkeys(NAMES, SimpleNamespace(days=1))
"""
FAULTS = """from dataclasses import dataclass


@dataclass
class Size:
    machines: object
    days: float
"""
SEEDS = """from dataclasses import dataclass
from types import SimpleNamespace

from hostler.domain.ages import is_old


@dataclass
class Plan:
    seeds: object
    size: object
    provider: str


def run(plan, jobs):
    return (run_seed(seed, plan.size, provider=plan.provider) for seed in plan.seeds)


def run_seed(seed, size, provider):
    old = is_old(seed)
    right = seed >= 5 or old == (seed >= 3)
    return SimpleNamespace(violation=None if right else "wrong", digest=str(old))
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
        "src/hostler/lab/__init__.py": "",
        "src/hostler/lab/scenario/__init__.py": "",
        "src/hostler/lab/scenario/faults.py": FAULTS,
        "src/hostler/lab/simulate/__init__.py": "",
        "src/hostler/lab/simulate/providers.py": PROVIDERS,
        "src/hostler/lab/simulate/seeds.py": SEEDS,
        "src/hostler/domain/__init__.py": "",
        "src/hostler/domain/ages.py": CODE,
        "tests/domain/test_ages.py": TEST,
    }
    (tmp_path / "tools").mkdir()
    for script in (SCRIPT, SCRIPT.with_name("reach.py")):
        shutil.copy(script, tmp_path / "tools")
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
    path: str, providers: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", [str(SCRIPT.parent), *sys.path])
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
    lines = [json.loads(line) for line in run(project, "--json", "--simulation", "4").splitlines()]
    noticed = {row["after"] for row in lines if row["noticed"] == "simulation: instances"}
    assert noticed == {
        "(4)",
        "(age > limit)",
        "(age == 7)",
        "(age >= limit or age != 7)",
        "(age != 7)",
    }
    (project / "src/hostler/lab/simulate/seeds.py").write_text("raise SystemExit(0)")
    with pytest.raises(subprocess.CalledProcessError):
        run(project, "--simulation")


@pytest.mark.timeout(300)
def test_provider_whose_seeds_always_fail_is_found_before_it_notices_anything(
    project: Path,
) -> None:
    """A fault of one judge let each seed of its provider fail, and so noticed every mutant."""
    seeds = project / "src/hostler/lab/simulate/seeds.py"
    wrong = SEEDS.replace("if right else", 'if right and provider != "fleeting" else')
    seeds.write_text(wrong)
    with pytest.raises(subprocess.CalledProcessError):
        run(project, "--simulation", "4")


@pytest.mark.timeout(300)
def test_seeds_in_which_a_mutant_differs_are_chosen_among_many(project: Path) -> None:
    """Of the first two seeds none is at the limit, and of the others one alone."""
    options = ("--json", "--simulation", "2")
    first = [json.loads(line) for line in run(project, *options).splitlines()]
    assert {row["after"] for row in first if row["noticed"]} == {
        "(age >= limit or age != 7)",
        "(age != 7)",
    }
    lines = [json.loads(line) for line in run(project, *options, "--of", "9").splitlines()]
    rows = {row["after"]: row for row in lines}
    assert rows["(age > limit)"]["noticed"] == "simulation: instances"
    assert rows["(age > limit)"]["differs"]["instances"] == 1
    assert rows["(age >= limit)"]["noticed"] is None
    assert rows["(age >= limit)"]["differs"]["instances"] == 1
    assert rows["(4)"]["differs"] is None, "what a module says when it is imported is in every seed"
    assert (project / "src/hostler/domain/ages.py").read_text() == CODE


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("digest", "seeds", "outcome"),
    [
        ("str(old)", 1, "SURVIVED "),
        ("provider", 0, "SURVIVED (nothing goes otherwise in any of these seeds) "),
    ],
)
def test_of_a_survivor_it_is_told_whether_anything_went_otherwise(
    project: Path, digest: str, seeds: int, outcome: str
) -> None:
    """Seed 7 alone differs, and no judge looks at it."""
    place = project / "src/hostler/lab/simulate/seeds.py"
    place.write_text(SEEDS.replace("digest=str(old)", f"digest={digest}"))
    options, about = ("--simulation", "2", "--of", "9"), "(age >= limit)"
    rows = [json.loads(line) for line in run(project, "--json", *options).splitlines()]
    row = next(row for row in rows if row["after"] == about)
    assert (row["differs"]["instances"], row["otherwise"]["instances"]) == (1, seeds)
    line = next(line for line in run(project, *options).splitlines() if line.endswith(about))
    assert line.partition(" ")[2].startswith(f"{outcome}src/")


@pytest.mark.timeout(300)
def test_a_mutant_that_differs_in_no_seed_is_told_as_such(project: Path) -> None:
    printed = run(project, "--simulation", "2", "--of", "2").splitlines()
    about = "age >= limit and age != 7  ->  (age >= limit)"
    line = next(row for row in printed if row.endswith(about))
    assert "SURVIVED (no seed in which it differs)" in line


@pytest.mark.parametrize(
    "function",
    [
        "def f(x): return [y for y in x if (z := y > 3)]",
        "async def f(x): return await x > 3",
        "def f(x):\n match x:\n  case 3: return x > 3\n  case _: return f'{x > 3}'",
        "class A:\n least = 3\n big = least > 3\n def f(self): return self.least > 3",
        "def f(x, y=3): return any(z > y for z in x)",
        "def f(x): yield x > 3",
    ],
)
def test_code_with_probes_still_compiles_and_says_what_it_said(function: str) -> None:
    module = run_path(str(SCRIPT.with_name("reach.py")))
    tree = ast.parse(function)
    places = {
        number: module["Place"](
            path=Path("f.py"),
            start=(node.lineno, node.col_offset),
            end=(node.end_lineno, node.end_col_offset),
            after="(4)",
        )
        for number, node in enumerate(ast.walk(tree))
        if isinstance(node, ast.Compare | ast.Constant)
    }
    probe = module["_Probe"](places)
    source = probe.of(function)
    compile(source, "f.py", "exec")
    assert ("_differs(" in source) == bool(probe.watched)
