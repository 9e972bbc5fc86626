"""Run the benchmarks one after the other, and hold their figures against goals and the baseline.

"make bench" prints a line for each figure; ARGS=--json makes them JSON, COMPARE=1 shows how they
stand to benchmarks/baseline.json, and exits with 1 when one is worse by more than its tolerance.
Times are compared in units of a yardstick, a fixed piece of work that is timed beside each
benchmark: so another machine, or a busy one, compares fairly.
"""

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import msgspec

ROOT = Path(__file__).resolve().parent.parent
NAMES = (
    "decide",
    "stores",
    "startup",
    "simulation",
    "growth",
    "losses",
    "loopback",
    "fleeting",
    "externalgrpc",
    "power",
    "kubernetes",
    "journal",
    "clusterapi",
    "money",
)
LIMIT = 240  # seconds for one benchmark
TRIES = 3
"""How often a benchmark runs before one of its figures counts as worse: each one's best counts."""

TIMES = frozenset({"s", "s CPU", "ms", "µs"})
MORE_IS_BETTER = "× real time"
WALL = ("wall", "time of", "start-up", "restart to", ": read ", ": a pass over", "to the packet")
"""Words in the names of figures that measure the wall's clock: neighbours and disks are in them."""

SHARES = ("gap: ", ": the gap")
"""Words in the names of figures that only say what another one is made of: none is worse."""

TOLERANCE = 1.15
TOLERANCE_OF_CPU = 1.5
TOLERANCE_OF_WALL = 3.0
FLOORS: Mapping[str, float] = {
    "s": 0.01,
    "s CPU": 0.01,
    "ms": 1.0,
    "µs": 5.0,
    "simulated s": 5.0,
    "MB": 0.001,
}
FLOOR = 1.0
"""Below this, a figure is as good as any: a millisecond more on nothing is no regression."""

Row = dict[str, str | float | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One figure, with the yardstick's seconds when it was taken."""

    name: str
    goal: float | None
    figure: float
    unit: str
    yardstick: float = 0.0

    @property
    def reached(self) -> bool:
        """Whether the goal is reached; what has none is never missed."""
        if self.goal is None:
            return True
        return self.figure >= self.goal if self.unit == MORE_IS_BETTER else self.figure <= self.goal

    @property
    def is_by_the_wall(self) -> bool:
        """Whether it was measured by the wall's clock."""
        return any(word in self.name for word in WALL)

    @property
    def tolerance(self) -> float:
        """How much worse than the baseline this may be."""
        if self.is_by_the_wall:
            return TOLERANCE_OF_WALL
        timed = self.unit in TIMES or self.unit == MORE_IS_BETTER
        return TOLERANCE_OF_CPU if timed or self.unit == "×" else TOLERANCE


def ratio(now: Figure, then: Figure) -> float:
    """Return how many times worse a figure is than it was; below 1, it is better."""
    floor = FLOORS.get(now.unit, FLOOR)
    worse = max(now.figure, floor) / max(then.figure, floor)
    machine = now.yardstick / then.yardstick
    if now.unit in TIMES:
        return worse / machine
    return 1 / (worse * machine) if now.unit == MORE_IS_BETTER else worse


# ---------------------------------------------------------------- measuring


@dataclass(frozen=True, slots=True)
class _Item:
    key: str
    value: int
    more: tuple[str, ...] = field(default=())


def yardstick() -> float:
    """Return the CPU seconds of a fixed piece of work such as ours, the best of several runs."""
    return min(_once() for _ in range(7))


def _once() -> float:
    start = time.process_time()
    items = [_Item(f"m-{number * 7919 % 4099:05}", number) for number in range(3000)]
    changed = [replace(item, more=(item.key,)) for item in items if item.value % 3]
    by_key = {item.key: item for item in changed}
    json.loads(json.dumps([(i.key, i.value, i.more) for i in sorted(changed, key=_key)]))
    return time.process_time() - start if len(by_key) == len(changed) else 0.0


def _key(item: _Item) -> str:
    return item.key


def measured(script: Path) -> tuple[Figure, ...]:
    """Run one benchmark and return its figures."""
    before = yardstick()
    run = subprocess.run(
        (sys.executable, script, "--json"),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        timeout=LIMIT,
    )
    beside = (before + yardstick()) / 2
    rows = (msgspec.json.decode(line, type=Figure) for line in run.stdout.splitlines())
    return tuple(replace(row, yardstick=beside) for row in rows)


def better(one: Figure, other: Figure) -> Figure:
    """Return the better of two takes of the same figure, each by its own yardstick."""
    return one if ratio(one, other) <= 1 else other


# ---------------------------------------------------------------- comparing


class Baseline:
    """The committed figures, by name."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._figures = dict[str, Figure]()
        if path.exists():
            rows = msgspec.json.decode(path.read_bytes(), type=tuple[Figure, ...])
            self._figures = {row.name: row for row in rows}

    def of(self, figure: Figure) -> Figure | None:
        """Return what this figure was, or None where it is new."""
        return self._figures.get(figure.name)

    def is_worse(self, figure: Figure) -> bool:
        """Tell whether a figure is worse than it was by more than its tolerance."""
        then = self.of(figure)
        if then is None or any(word in figure.name for word in SHARES):
            return False
        return ratio(figure, then) > figure.tolerance

    def missing(self, figures: Sequence[Figure]) -> tuple[str, ...]:
        """Return the names that were not measured this time."""
        names = {figure.name for figure in figures}
        return tuple(name for name in self._figures if name not in names)

    def keep(self, figures: Sequence[Figure]) -> None:
        """Write these figures over what was kept of the same names."""
        self._figures |= {figure.name: figure for figure in figures}
        rows = [
            {**_row(one), "yardstick": round(one.yardstick, 5)} for one in self._figures.values()
        ]
        lines = ",\n".join(f"  {json.dumps(row, ensure_ascii=False)}" for row in rows)
        self._path.write_text(f"[\n{lines}\n]\n", encoding="utf-8")


def compared(script: Path, baseline: Baseline) -> tuple[Figure, ...]:
    """Run a benchmark; where a figure seems worse run it again, and keep each one's best."""
    figures = measured(script)
    for _ in range(TRIES - 1):
        if not any(baseline.is_worse(figure) for figure in figures):
            break
        retry_at = {figure.name: figure for figure in measured(script)}
        figures = tuple(better(one, retry_at.get(one.name, one)) for one in figures)
    return figures


# ---------------------------------------------------------------- showing


def _row(figure: Figure) -> Row:
    return {
        "name": figure.name,
        "goal": figure.goal,
        "figure": figure.figure,
        "unit": figure.unit,
    }


def as_json(figure: Figure, then: Figure | None) -> str:
    """Return a figure as a line of JSON, with what it was where that is asked for."""
    row = _row(figure)
    if then is not None:
        row |= {"baseline": then.figure, "ratio": round(ratio(figure, then), 3)}
    return json.dumps(row, ensure_ascii=False)


def as_line(figure: Figure, then: Figure | None) -> str:
    """Return a figure as a line for people."""
    sign = "≥" if figure.unit == MORE_IS_BETTER else "≤"
    goal = "" if figure.goal is None else f"goal {sign} {figure.goal:,g}"
    missed = "" if figure.reached else " MISSED"
    was = ""
    if then is not None and not any(word in figure.name for word in SHARES):
        times = ratio(figure, then)
        was = f"{times:.2f} × baseline" + (" WORSE" if times > figure.tolerance else "")
    number = f"{figure.figure:,.4g}" if abs(figure.figure) < 1000 else f"{figure.figure:,.0f}"
    start = f"{figure.name:<62} {number:>9} {figure.unit:<11} {goal + missed:<20}"
    return f"{start} {was}".rstrip()


def closing(figures: Sequence[Figure], worse: Sequence[Figure], seconds: float) -> Iterator[str]:
    """Return the last words, for people."""
    goals = [figure for figure in figures if figure.goal is not None]
    reached = sum(figure.reached for figure in goals)
    yield f"\n{reached} of {len(goals)} goals reached, in {seconds:.0f} s"
    for figure in worse:
        yield f"worse than the baseline by more than {figure.tolerance:g} times: {figure.name}"


# ---------------------------------------------------------------- the command


def arguments() -> argparse.Namespace:
    """Return what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="print a JSON object for each figure")
    parser.add_argument("--compare", action="store_true", help="hold against the baseline")
    parser.add_argument("--save", action="store_true", help="make these figures the baseline")
    parser.add_argument(
        "--steady",
        action="store_true",
        help="save nothing that the wall's clock measured: for a machine that is not alone",
    )
    parser.add_argument("--only", nargs="+", metavar="NAME", help=f"of {', '.join(NAMES)}")
    parser.add_argument("--folder", type=Path, default=ROOT / "benchmarks", help="where they are")
    return parser.parse_args()


def main() -> None:
    """Run what was asked for; exit with 1 when something failed, or is worse than it was."""
    asked = arguments()
    folder: Path = asked.folder
    baseline = Baseline(folder / "baseline.json")
    figures, worse, failed = list[Figure](), list[Figure](), list[str]()
    start = time.perf_counter()
    for name in asked.only or [name for name in NAMES if (folder / f"{name}.py").exists()]:
        script = folder / f"{name}.py"
        try:
            some = compared(script, baseline) if asked.compare else measured(script)
        except subprocess.SubprocessError as error:  # the others are measured all the same
            print(f"{name}: {error}", file=sys.stderr)
            failed.append(name)
            continue
        for figure in some:
            then = baseline.of(figure) if asked.compare else None
            print(as_json(figure, then) if asked.json else as_line(figure, then), flush=True)
            worse += [figure] if asked.compare and baseline.is_worse(figure) else []
        figures += some
    if asked.save:
        baseline.keep([one for one in figures if not (asked.steady and one.is_by_the_wall)])
    missing = baseline.missing(figures) if asked.compare and not asked.only else ()
    if missing:
        print(f"in the baseline, and not measured: {', '.join(missing)}", file=sys.stderr)
    if not asked.json:
        print("\n".join(closing(figures, worse, time.perf_counter() - start)))
    if failed:
        print(f"failed, and not measured: {', '.join(failed)}", file=sys.stderr)
    sys.exit(bool(worse or missing or failed))


if __name__ == "__main__":
    main()
