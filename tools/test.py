"""Run all parts of the tests, whatever fails, and end with a table: part, seconds, result.

"make test" runs everything, and "make check" only what is static; both are this script. Parts run
one after the other, but for what only computes: that has the processors while other parts wait.
"""

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree as ET

ROOT = Path(__file__).resolve().parent.parent
BIN = Path(sys.executable).parent
REPORTS = ROOT / ".cache" / "test"
LIMIT = 5400  # seconds for one part: for what hangs; each test has its own, shorter limit
TOO_LONG = 124
PATIENCE = "HOSTLER_TEST_PATIENCE"
"""How many times its limit a test may take; tests/conftest.py reads it."""
WORDS = ("failed", "passed", "skipped", "xfailed")


@dataclass(frozen=True, slots=True)
class Part:
    """One thing to run: its name in the table, and its command without the folder of the tool.

    One that is `patient` waits for nobody and looks at no clock: it may be as slow as it wants.
    """

    name: str
    command: tuple[str, ...]
    patient: bool = False

    @property
    def report(self) -> Path:
        """Where pytest leaves its counts; nothing is there for other tools."""
        return REPORTS / f"{self.name}.xml"

    @property
    def log(self) -> Path:
        """What it says while it runs beside others."""
        return REPORTS / f"{self.name}.log"


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
    Part("simulation", ("pytest", "-n2", "tests/simulation"), patient=True),
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
    start = time.perf_counter()
    results = run([known[name] for name in names or everything])
    print(table(results, time.perf_counter() - start), flush=True)
    sys.exit(any(result.code for result in results))


def run(parts: Sequence[Part]) -> list[Result]:
    """Run parts one after the other, and the patient one beside all others that there are."""
    REPORTS.mkdir(parents=True, exist_ok=True)
    patient = next((part for part in parts if part.patient), None)
    others = [part for part in parts if part is not patient]
    if patient is None or not others:
        return [run_alone(part) for part in parts]
    print(f"\n==> {patient.name}, beside the others: {patient.log}", flush=True)
    start = time.perf_counter()
    with begun(patient) as process:
        results = [run_alone(part) for part in others]
        print(f"\n==> {patient.name}", flush=True)
        code = followed(patient, process)
    return [*results, Result(patient.name, time.perf_counter() - start, code, counted(patient))]


def run_alone(part: Part) -> Result:
    """Run one part to its end, its output going straight to the terminal."""
    print(f"\n==> {part.name}: {' '.join(part.command)}", flush=True)
    start = time.perf_counter()
    try:
        code = subprocess.run(
            command(part), cwd=ROOT, env=environment(), timeout=LIMIT, check=False
        ).returncode
    except subprocess.TimeoutExpired:
        code = TOO_LONG
    return Result(part.name, time.perf_counter() - start, code, counted(part))


@contextmanager
def begun(part: Part) -> Generator["subprocess.Popen[bytes]"]:
    """Run one part in a session of its own, where it has only the time that nobody else wants.

    A priority counts among the processes of one session; that of a session is Linux' alone. It ends
    with this process, by whatever signal.
    """
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    with (
        part.log.open("wb") as log,
        subprocess.Popen(
            command(part),
            cwd=ROOT,
            env=environment() | {PATIENCE: "20"},
            stdout=log,
            stderr=log,
            start_new_session=True,
        ) as process,
    ):
        with suppress(OSError):
            os.setpriority(os.PRIO_PGRP, process.pid, 19)
            Path(f"/proc/{process.pid}/autogroup").write_text("19")
        try:
            yield process
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def followed(part: Part, process: "subprocess.Popen[bytes]") -> int:
    """Show what a part has said, and what it says from now on; return its exit code."""
    end = time.perf_counter() + LIMIT
    with part.log.open(errors="replace") as log:
        while process.poll() is None and time.perf_counter() < end:
            print(log.read(), end="", flush=True)
            with suppress(subprocess.TimeoutExpired):
                process.wait(0.1)
        print(log.read(), end="", flush=True)
    return TOO_LONG if process.returncode is None else process.returncode


def command(part: Part) -> tuple[str, ...]:
    """Return what to run for a part; what an earlier run reported is gone by then."""
    part.report.unlink(missing_ok=True)
    report = (f"--junitxml={part.report}",) if part.command[0] == "pytest" else ()
    return (str(BIN / part.command[0]), *part.command[1:], *report)


def environment() -> dict[str, str]:
    """Return the variables of a part."""
    return {**os.environ, "NO_MKDOCS_2_WARNING": "1"}  # we know; mkdocs.yml is kept plain


def counted(part: Part) -> Counter[str]:
    """Read from pytest's own report how many tests went how; nothing where there is no report."""
    if not part.report.exists():
        return Counter()
    root = ET.parse(part.report).getroot()  # noqa: S314 - our own pytest wrote it
    return Counter(outcome(case) for case in root.iter("testcase"))


def outcome(case: ET.Element) -> str:
    """Return how one test went, in the words of pytest's closing line."""
    if case.find("failure") is not None or case.find("error") is not None:
        return "failed"
    skipped = case.find("skipped")
    if skipped is None:
        return "passed"
    return "xfailed" if skipped.get("type") == "pytest.xfail" else "skipped"


def table(results: Iterable[Result], seconds: float) -> str:
    """Return one line for each part, and a last line in pytest's words of how long all took."""
    rows = tuple(results)
    lines = [f"\n{'part':<12} {'seconds':>8}  result"]
    lines += [f"{row.name:<12} {row.seconds:>8.1f}  {verdict(row)}" for row in rows]
    total: Counter[str] = sum((row.counts for row in rows), Counter[str]())
    words = f"{in_words(total)} in " if total else ""
    wrong = [row.name for row in rows if row.code]
    end = f"not well: {', '.join(wrong)}" if wrong else f"all {len(rows)} parts went well"
    return "\n".join([*lines, f"\n{words}{seconds:.1f}s; {end}"])


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
