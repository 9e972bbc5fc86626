"""Mutants: break the code in one place at a time, and see whether anything notices.

"make mutants" draws places of the modules that decide, and tells of each whether tests fail on it;
ARGS=--simulation asks the simulation alone: the first seeds, or with --of those of many in which
the mutant would have had another value than the code. Of who survives it is told in how many of
them anything went otherwise: what was called, recorded or said, and when. Mutants stand in a copy
of the tree: the tree itself is never touched. The same --seed draws the same places of the same
tree. A survivor either changes nothing that anybody could see, or shows a test that is missing.
"""

import argparse
import ast
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import cast

from reach import Place, Reach, reach

ROOT = Path(__file__).resolve().parent.parent
SOURCE = Path("src/hostler")
TARGETS = (
    "domain/**/*.py",
    "controllers/execute/evidence.py",
    "controllers/observe/due.py",
    "providers/scaleway/*/plan/*.py",
    "providers/scaleway/*/observe/*.py",
    "providers/static/*.py",
    "providers/power/planner.py",
    "providers/power/ways.py",
    "providers/power/settings.py",
    "providers/power/snmp/models.py",
    "providers/power/mqtt/dialects.py",
    "providers/power/job/manifest.py",
    "providers/power/job/refusals.py",
    "frontends/externalgrpc/members.py",
    "frontends/externalgrpc/options.py",
    "frontends/externalgrpc/node.py",
    "frontends/fleeting/schema/**/*.py",
    "config/laws.py",
)
"""What decides, what proves that an act may be, and what maps one world's words to another's."""

NEAR = ("domain", "controllers", "providers", "contracts", "config", "frontends", "services")
FAR = ("disasters", "lab", "simulators", "stores")
PROVIDERS = ("instances", "metal", "macs", "power", "fleeting")
RUN_BY = {
    "providers/scaleway/instances": ("instances", "fleeting"),
    "providers/scaleway/macs": ("macs",),
    "providers/static": ("metal", "power"),
    "domain/hosts": ("macs", "metal", "power"),
}
"""Whose seeds work with what a folder decides; every provider's where none is named."""

_FIRST = 2
"""Seeds of each provider that are run before the others: one of them notices most mutants."""

_PYTEST = ("-q", "-x", "-n2", "-p", "no:cacheprovider")
_JUDGE = """import os, sys
from hostler.lab.scenario.faults import Size
from hostler.lab.simulate.providers import PROVIDERS
from hostler.lab.simulate.seeds import Plan, run
provider, seeds = sys.argv[1], tuple(map(int, sys.argv[2:]))
plan = Plan(seeds=seeds, size=Size(machines=None, days=PROVIDERS[provider].days), provider=provider)
for result in run(plan, os.cpu_count() or 1):
    if result.violation is not None:
        sys.exit(1)
    print(result.digest)
"""
"""Runs seeds of a provider until one fails; prints the digest of all that happened in each."""
_NO_TESTS = 5  # pytest's exit code where a folder has none
LIMIT = 900.0
"""Seconds for one run, at the least: a mutant that hangs is noticed."""

SLOWER = 20
"""How many times longer than unbroken code a run may take; a busy machine is no hanging mutant."""


# ---------------------------------------------------------------- what is broken


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """One place, and what stands there instead."""

    path: Path
    line: int
    span: tuple[tuple[int, int], tuple[int, int]]
    """Where it begins and ends: a line and a column each, as Python counts them."""
    before: str
    after: str
    text: str
    """The whole file with the mutant in it."""

    @property
    def place(self) -> Place:
        """Where it stands, for who watches whether it matters."""
        start, end = self.span
        return Place(path=self.path, start=start, end=end, after=self.after)

    @property
    def about(self) -> str:
        """The mutant in a line."""
        return f"{self.path}:{self.line}  {self.before}  ->  {self.after}"


_COMPARES: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_NOT_CODE = frozenset({"annotation", "returns", "decorator_list", "format_spec"})
_FORMAL = frozenset({"strict", "maxsize"})
"""Keywords that change nothing of what is decided."""

_CALLS = {"any": "all", "all": "any", "min": "max", "max": "min"}


def variants(node: ast.AST) -> Iterator[ast.expr]:
    """Yield what may stand in the place of an expression."""
    match node:
        case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _COMPARES:
            yield ast.Compare(left=left, ops=[_COMPARES[type(op)]()], comparators=[right])
        case ast.BoolOp(op=op, values=values):
            other = ast.Or() if isinstance(op, ast.And) else ast.And()
            yield ast.BoolOp(op=other, values=values)
            yield values[0]
            yield values[-1]
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield operand
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            yield ast.BinOp(left=left, op=ast.Sub(), right=right)
        case ast.BinOp(left=left, op=ast.Sub(), right=right):
            yield ast.BinOp(left=left, op=ast.Add(), right=right)
        case ast.Constant(value=bool(value)):
            yield ast.Constant(value=not value)
        case ast.Constant(value=int(value)):
            yield ast.Constant(value=value + 1)
        case ast.IfExp(test=test, body=body, orelse=orelse):
            yield ast.IfExp(test=test, body=orelse, orelse=body)
        case ast.Call(func=ast.Name(id=name), args=args, keywords=keywords) if name in _CALLS:
            yield ast.Call(func=ast.Name(id=_CALLS[name]), args=args, keywords=keywords)
        case _:
            return


def mutants_of(path: Path) -> Iterator[Mutant]:
    """Yield every mutant of a file; annotations and docstrings are left alone."""
    source = (ROOT / path).read_text(encoding="utf-8")
    lines = source.encode().splitlines(keepends=True)
    starts = [sum(map(len, lines[:number])) for number in range(len(lines) + 1)]
    for node in _code(ast.parse(source)):
        for other in variants(node):
            start = node.lineno, node.col_offset
            end = node.end_lineno or node.lineno, node.end_col_offset or 0
            first, last = (starts[line - 1] + column for line, column in (start, end))
            raw = source.encode()
            after = f"({ast.unparse(ast.fix_missing_locations(other))})"
            yield Mutant(
                path=path,
                line=node.lineno,
                span=(start, end),
                before=" ".join(raw[first:last].decode().split()),
                after=after,
                text=(raw[:first] + after.encode() + raw[last:]).decode(),
            )


def _code(tree: ast.AST) -> Iterator[ast.expr]:
    """Yield the expressions that run; not annotations, nor what only the writing of code needs."""
    for name, value in ast.iter_fields(tree):
        if name in _NOT_CODE or (isinstance(tree, ast.keyword) and tree.arg in _FORMAL):
            continue
        for node in cast("list[object]", value) if isinstance(value, list) else (value,):
            if isinstance(node, ast.expr):
                yield node
            if isinstance(node, ast.AST):
                yield from _code(node)


def drawn(many: int, seed: int, only: Sequence[str]) -> list[Mutant]:
    """Return so many mutants of the target modules, each file by the number of its places."""
    patterns = only or TARGETS
    files = sorted({path for pattern in patterns for path in (ROOT / SOURCE).glob(pattern)})
    found = [mutant for path in files for mutant in mutants_of(path.relative_to(ROOT))]
    return Random(seed).sample(found, min(many, len(found)))  # noqa: S311 - a choice, no secret


# ---------------------------------------------------------------- who notices


def providers_of(path: Path) -> tuple[str, ...]:
    """Return the providers whose seeds run the code at a path."""
    folder = path.relative_to(SOURCE).parent.as_posix()
    found = (RUN_BY[known] for known in RUN_BY if f"{folder}/".startswith(f"{known}/"))
    return next(found, PROVIDERS)


Seeds = Mapping[str, Sequence[int]]
"""Seeds by their provider."""


@dataclass(frozen=True, slots=True)
class Noticed:
    """Who notices a mutant; where nobody does, how seeds went with it, by their provider.

    `digests` are of all that happened in each seed; `otherwise` says in how many that is another
    one than with nothing broken.
    """

    who: str
    digests: Mapping[str, Sequence[tuple[int, str]]] = field(
        default_factory=dict[str, Sequence[tuple[int, str]]]
    )
    otherwise: Mapping[str, int] | None = None


class Copy:
    """A copy of the tree in which one mutant at a time stands."""

    def __init__(self, folder: Path) -> None:
        self.folder, self._limit = folder, LIMIT
        self._unbroken = dict[tuple[str, int], str]()
        listed = subprocess.run(
            ("git", "ls-files", "-z"),  # noqa: S607 - whichever git made the checkout
            cwd=ROOT,
            capture_output=True,
            check=True,
            text=True,
        )
        for name in filter(None, listed.stdout.split("\0")):
            target = folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target)

    def noticed(self, mutant: Mutant, seeds: Seeds | None) -> Noticed:
        """Return who notices a mutant: the tests near it, the rest, a seed; or nobody: empty.

        `seeds` are those of each provider that are asked, and nothing else; None: the tests are.
        """
        place = self.folder / mutant.path
        whole = place.read_bytes()
        place.write_text(mutant.text, encoding="utf-8")
        try:
            found = Noticed(self._by_tests(mutant)) if seeds is None else self._by_seeds(seeds)
        finally:
            place.write_bytes(whole)
        return found if found.who or seeds is None else self._compared(found, seeds)

    def _compared(self, found: Noticed, seeds: Seeds) -> Noticed:
        """Return in how many seeds of each provider anything went otherwise than unbroken."""
        for provider, numbers in seeds.items():
            new = [seed for seed in numbers if (provider, seed) not in self._unbroken]
            digests = self._judged(provider, new) if new else []
            if digests is None:
                raise SystemExit(f"nothing is broken, and a seed of {provider} fails: {new}")
            self._unbroken |= {(provider, s): d for s, d in zip(new, digests, strict=True)}
        otherwise = {
            provider: sum(self._unbroken[provider, s] != d for s, d in found.digests[provider])
            for provider in seeds
        }
        return replace(found, otherwise=otherwise)

    def _by_tests(self, mutant: Mutant) -> str:
        parts = mutant.path.relative_to(SOURCE).parts
        for names in ((f"{parts[0]}/{parts[1]}",), (parts[0],), NEAR, FAR):
            paths = [f"tests/{name}" for name in names if (self.folder / "tests" / name).is_dir()]
            if paths and self._run("-m", "pytest", *_PYTEST, *paths) is None:
                return " ".join(paths)
        return ""

    def _by_seeds(self, seeds: Seeds) -> Noticed:
        found: dict[str, list[tuple[int, str]]] = {provider: [] for provider in seeds}
        for some in (slice(_FIRST), slice(_FIRST, None)):
            for provider, numbers in seeds.items():
                digests = self._judged(provider, numbers[some]) if numbers[some] else []
                if digests is None:
                    return Noticed(f"simulation: {provider}")
                found[provider] += zip(numbers[some], digests, strict=True)
        return Noticed("", digests=found)

    def _judged(self, provider: str, seeds: Sequence[int]) -> list[str] | None:
        """Run seeds; return the digest of each, or None where one failed."""
        printed = self._run("-c", _JUDGE, provider, *map(str, seeds))
        if printed is None:
            return None
        digests = printed.split()
        if len(digests) != len(seeds):
            raise SystemExit(f"the simulation of {provider} printed no result: {printed!r}")
        return digests

    def _run(self, *arguments: str) -> str | None:
        """Run Python on the copy; return what it printed, or None where it failed."""
        environment = {**os.environ, "PYTHONPATH": str(self.folder / "src")}
        try:
            run = subprocess.run(
                (sys.executable, *arguments),
                cwd=self.folder,
                env=environment,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                timeout=self._limit,
                check=False,
                text=True,
            )
        except subprocess.TimeoutExpired:
            return None
        return run.stdout if run.returncode in {0, _NO_TESTS} else None

    def check(self, *, simulation: int) -> None:
        """Make sure that what is to notice runs well while nothing is broken, and how fast.

        The seeds of each provider are asked: one that always fails would notice everything.
        """
        begun = time.perf_counter()
        printed = (
            [self._judged(provider, (1,)) for provider in PROVIDERS]
            if simulation
            else [self._run("-m", "pytest", *_PYTEST, "tests/domain")]
        )
        if not all(printed):
            raise SystemExit("nothing is broken yet, and what is to notice fails or prints nothing")
        took = (time.perf_counter() - begun) * max(1, simulation)
        self._limit = max(LIMIT, SLOWER * took)


def reaches(folder: Path, mutants: Sequence[Mutant], many: int, of: int) -> list[Reach]:
    """Return by which seeds of each provider each mutant is to be noticed: so many at most.

    `of` is how many there are to choose from; 0: the first ones, whatever they reach.
    """
    providers = [providers_of(mutant.path) for mutant in mutants]
    if not of:
        first = tuple(range(1, many + 1))
        return [Reach(seeds=dict.fromkeys(names, first), known=False) for names in providers]
    found = reach(folder, [mutant.place for mutant in mutants], providers, of)
    return [
        Reach(seeds={name: seeds[:many] for name, seeds in one.seeds.items()}, known=one.known)
        for one in found
    ]


# ---------------------------------------------------------------- the command


def arguments() -> argparse.Namespace:
    """Return what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--many", type=int, default=40, help="how many mutants are drawn")
    parser.add_argument("--seed", type=int, default=1, help="which ones")
    parser.add_argument("--only", nargs="+", default=(), metavar="GLOB", help="below src/hostler")
    parser.add_argument(
        "--simulation",
        type=int,
        nargs="?",
        const=20,
        default=0,
        metavar="SEEDS",
        help="ask the simulation alone, so many seeds of each provider",
    )
    parser.add_argument(
        "--of",
        type=int,
        default=0,
        metavar="SEEDS",
        help="with --simulation: choose among so many seeds those in which the mutant differs",
    )
    parser.add_argument("--json", action="store_true", help="print a JSON object for each mutant")
    parser.add_argument("--list", action="store_true", help="only print what would be broken")
    return parser.parse_args()


def outcome(noticed: Noticed, reached: Reach) -> str:
    """Return in a word what came of a mutant."""
    if noticed.who:
        return "noticed "
    if reached.known and not any(reached.seeds.values()):
        return "SURVIVED (no seed in which it differs)"
    if noticed.otherwise is not None and not any(noticed.otherwise.values()):
        return "SURVIVED (nothing goes otherwise in any of these seeds)"
    return "SURVIVED"


def main() -> None:
    """Break what was asked for, one place after the other, and tell who noticed."""
    asked = arguments()
    mutants = drawn(asked.many, asked.seed, asked.only)
    if asked.list:
        print("\n".join(mutant.about for mutant in mutants))
        return
    survivors = 0
    with tempfile.TemporaryDirectory(prefix="hostler-mutants-") as folder:
        copy = Copy(Path(folder))
        copy.check(simulation=asked.simulation)
        asked_of = reaches(copy.folder, mutants, asked.simulation, asked.of)
        for number, (mutant, reached) in enumerate(zip(mutants, asked_of, strict=True), start=1):
            begun = time.perf_counter()
            noticed = copy.noticed(mutant, reached.seeds if asked.simulation else None)
            survivors += not noticed.who
            row = {
                "path": str(mutant.path),
                "line": mutant.line,
                "before": mutant.before,
                "after": mutant.after,
                "noticed": noticed.who or None,
                "differs": {name: len(seeds) for name, seeds in reached.seeds.items()}
                if reached.known
                else None,
                "otherwise": noticed.otherwise,
                "seconds": round(time.perf_counter() - begun, 1),
            }
            line = f"{number}/{len(mutants)} {outcome(noticed, reached)} {mutant.about}"
            print(json.dumps(row) if asked.json else line, flush=True)
    if not asked.json:
        share = 100 * (1 - survivors / max(1, len(mutants)))
        print(f"{share:.0f} % of {len(mutants)} mutants were noticed; seed {asked.seed}")


if __name__ == "__main__":
    main()
