"""Run all parts of the tests, whatever fails, and end with a table: part, seconds, result.

"make test" runs everything, and "make check" only what is static; both are this script.
"""

import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree as ET

ROOT = Path(__file__).resolve().parent.parent
BIN = Path(sys.executable).parent
REPORTS = ROOT / ".cache" / "test"
LIMIT = 5400  # seconds for one part: for what hangs; each test has its own, shorter limit
TOO_LONG = 124
WORDS = ("failed", "passed", "skipped", "xfailed")


@dataclass(frozen=True, slots=True)
class Part:
    """One thing to run: its name in the table, and its command without the folder of the tool."""

    name: str
    command: tuple[str, ...]

    @property
    def report(self) -> Path:
        """Where pytest leaves its counts; nothing is there for other tools."""
        return REPORTS / f"{self.name}.xml"


@dataclass(frozen=True, slots=True)
class Result:
    """How one part went. `counts` is empty for what is not pytest."""

    name: str
    seconds: float
    code: int
    counts: Counter[str]


STATIC = (
    Part("lint", ("ruff", "check")),
    Part("format", ("ruff", "format", "--check")),
    Part("spelling", ("codespell",)),
    Part("types", ("basedpyright",)),
    Part("layers", ("lint-imports", "--no-cache", "--no-logo")),
    Part("words", ("python", "tools/words.py")),
    Part("docs", ("mkdocs", "--quiet", "build", "--strict", "--site-dir", ".cache/site")),
)
SLOW = (
    "tests/controlplane",
    "tests/disasters",
    "tests/end_to_end",
    "tests/hosts",
    "tests/simulation",
)
BY_FILE = ("pytest", "-n2", "--dist", "loadfile")
PLUGIN = "tests/end_to_end/test_fleeting_*.py"
TESTS = (
    Part("tests", ("pytest", "-n2", "tests", *(f"--ignore={folder}" for folder in SLOW))),
    Part("scenes", ("pytest", "-n2", "tests/disasters")),
    Part("simulation", ("pytest", "-n2", "tests/simulation")),
    # These mostly wait for other processes. All of a file goes to one of the two.
    Part("end-to-end", (*BY_FILE, "tests/end_to_end", f"--ignore-glob={PLUGIN}")),
    Part("plugin", (*BY_FILE, "tests/hosts", *sorted(map(str, Path().glob(PLUGIN))))),
    # Kubernetes' own programs are built first, for five to ten minutes; each process has its own
    # servers: most files need one of the two alone.
    Part("controlplane", (*BY_FILE, "tests/controlplane")),
)


def main() -> None:
    """Run the parts that the arguments name, or all; exit with 0 only if all of them went well."""
    known = {part.name: part for part in (*STATIC, *TESTS)}
    names = [part.name for part in STATIC] if sys.argv[1:] == ["static"] else sys.argv[1:]
    if unknown := set(names) - set(known):
        sys.exit(f"no such part: {', '.join(sorted(unknown))}; there are: {', '.join(known)}")
    everything = [part.name for part in (*STATIC, *TESTS)]
    results = [run(known[name]) for name in names or everything]
    print(table(results), flush=True)
    sys.exit(any(result.code for result in results))


def run(part: Part) -> Result:
    """Run one part to its end, its output going straight to the terminal."""
    print(f"\n==> {part.name}: {' '.join(part.command)}", flush=True)
    part.report.parent.mkdir(parents=True, exist_ok=True)
    part.report.unlink(missing_ok=True)
    report = (f"--junitxml={part.report}",) if part.command[0] == "pytest" else ()
    command = (str(BIN / part.command[0]), *part.command[1:], *report)
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}  # we know; mkdocs.yml is kept plain
    start = time.perf_counter()
    try:
        code = subprocess.run(
            command, cwd=ROOT, env=environment, timeout=LIMIT, check=False
        ).returncode
    except subprocess.TimeoutExpired:
        code = TOO_LONG
    return Result(part.name, time.perf_counter() - start, code, counted(part.report))


def counted(report: Path) -> Counter[str]:
    """Read from pytest's own report how many tests went how; nothing where there is no report."""
    if not report.exists():
        return Counter()
    root = ET.parse(report).getroot()  # noqa: S314 - our own pytest wrote it
    return Counter(outcome(case) for case in root.iter("testcase"))


def outcome(case: ET.Element) -> str:
    """Return how one test went, in the words of pytest's closing line."""
    if case.find("failure") is not None or case.find("error") is not None:
        return "failed"
    skipped = case.find("skipped")
    if skipped is None:
        return "passed"
    return "xfailed" if skipped.get("type") == "pytest.xfail" else "skipped"


def table(results: Iterable[Result]) -> str:
    """Return one line for each part, and a last line in pytest's words that adds them up."""
    rows = tuple(results)
    lines = [f"\n{'part':<12} {'seconds':>8}  result"]
    lines += [f"{row.name:<12} {row.seconds:>8.1f}  {verdict(row)}" for row in rows]
    total: Counter[str] = sum((row.counts for row in rows), Counter[str]())
    words = f"{in_words(total)} in " if total else ""
    wrong = [row.name for row in rows if row.code]
    end = f"not well: {', '.join(wrong)}" if wrong else f"all {len(rows)} parts went well"
    return "\n".join([*lines, f"\n{words}{sum(row.seconds for row in rows):.1f}s; {end}"])


def verdict(row: Result) -> str:
    """Say how a part went, with the number of its tests or the exit code."""
    result = {0: "ok", 5: "FAILED (no tests)", TOO_LONG: f"FAILED (over {LIMIT} s)"}.get(
        row.code, f"FAILED (exit {row.code})"
    )
    return f"{result}, {in_words(row.counts)}" if row.counts else result


def in_words(counts: Counter[str]) -> str:
    """Return the counts that are not nought, in the order of pytest's closing line."""
    return ", ".join(f"{counts[word]} {word}" for word in WORDS if counts[word])


if __name__ == "__main__":
    main()
