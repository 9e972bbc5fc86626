"""The comparison of benchmarks: what is slower than its baseline is told, and fails."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

TOOLS = Path(__file__).resolve().parents[2] / "tools"
STEADY = f"""
import sys
sys.path.insert(0, {str(TOOLS)!r})
import bench
assert 0.0 < bench.yardstick() < 60.0
bench.yardstick = lambda: YARDSTICK
bench.main()
"""
"""Runs the tool on a machine that is always as fast: beside other work this one is not."""


def run(
    folder: Path,
    figure: float,
    unit: str,
    *options: str,
    name: str = "a thing",
    yardstick: float = 1.0,
) -> subprocess.CompletedProcess[str]:
    row = {"name": name, "goal": 10.0, "figure": figure, "unit": unit}
    (folder / "thing.py").write_text(f"print({json.dumps(json.dumps(row))})\n")
    code = STEADY.replace("YARDSTICK", str(yardstick))
    command = (sys.executable, "-c", code, "--folder", folder, "--only", "thing", *options)
    return subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - ours


@pytest.mark.parametrize(
    ("before", "after", "unit", "code"),
    [
        (2.0, 2.1, "s", 0),
        (2.0, 9.0, "s", 1),
        (2.0, 2.6, "s CPU", 0),
        (2.0, 9.0, "s CPU", 1),
        (9.0, 2.0, "s", 0),
        (20_000.0, 4_000.0, "× real time", 1),
        (4_000.0, 20_000.0, "× real time", 0),
        (60.0, 61.0, "calls", 0),
        (60.0, 90.0, "calls", 1),
        (0.0, 0.0, "calls", 0),
        (0.0, 5.0, "calls", 1),
        (-3.0, 1.0, "simulated s", 0),
        (0.0, 0.0, "EUR", 0),
        (0.0, 5.0, "EUR", 1),
    ],
)
def test_what_is_worse_than_the_baseline_fails_and_nothing_else(
    tmp_path: Path, before: float, after: float, unit: str, code: int
):
    assert run(tmp_path, before, unit, "--save").returncode == 0

    compared = run(tmp_path, after, unit, "--compare", "--json")

    assert compared.returncode == code, compared.stderr
    row = json.loads(compared.stdout)
    assert row.keys() == {"name", "goal", "figure", "unit", "baseline", "ratio"}
    assert (row["baseline"], row["figure"]) == (before, after)


@pytest.mark.parametrize(("yardstick", "code"), [(4.0, 0), (1.0, 1)])
def test_a_slower_machine_makes_nothing_worse(tmp_path: Path, yardstick: float, code: int):
    run(tmp_path, 2.0, "s", "--save")
    assert run(tmp_path, 8.0, "s", "--compare", yardstick=yardstick).returncode == code


def test_what_a_gap_is_made_of_is_never_worse(tmp_path: Path):
    run(tmp_path, 1.0, "EUR", "--save", name="money, gap: late ends")

    compared = run(tmp_path, 99.0, "EUR", "--compare", name="money, gap: late ends")

    assert compared.returncode == 0
    assert "baseline" not in compared.stdout


def test_without_a_comparison_a_line_has_four_keys_and_nothing_fails(tmp_path: Path):
    run(tmp_path, 1.0, "s", "--save")

    alone = run(tmp_path, 99.0, "s", "--json")

    assert alone.returncode == 0
    assert json.loads(alone.stdout).keys() == {"name", "goal", "figure", "unit"}


def test_on_a_machine_that_is_not_alone_nothing_of_the_wall_s_clock_is_saved(tmp_path: Path):
    run(tmp_path, 1.0, "s", "--save", "--steady", name="a call (wall)")
    assert json.loads((tmp_path / "baseline.json").read_text()) == []

    run(tmp_path, 1.0, "s", "--save", "--steady", name="a call, CPU")
    (row,) = json.loads((tmp_path / "baseline.json").read_text())

    assert row["name"] == "a call, CPU"


def test_a_benchmark_that_fails_is_named_and_the_others_are_measured(tmp_path: Path):
    (tmp_path / "broken.py").write_text("raise SystemExit('no luck')\n")

    both = run(tmp_path, 1.0, "s", "--json", "--only", "broken", "thing")

    assert both.returncode == 1
    assert json.loads(both.stdout)["figure"] == 1.0
    assert "no luck" in both.stderr
    assert both.stderr.endswith("failed, and not measured: broken\n")
