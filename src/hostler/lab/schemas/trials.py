"""Trials: many schemas drawn, served and judged; `wrong` is never.

.venv/bin/python -m hostler.lab.schemas.trials --count 5000 --first 0
"""

import argparse
import asyncio
import random
import sys
import tempfile
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from msgspec import Struct

from .answers import answered
from .judge import Judgement, Verdict, judge
from .model import Schema
from .mutations import MUTATIONS
from .plain import plain_schema

_MOST = 4


class Trial(Struct, frozen=True, kw_only=True):
    """One schema, how it was changed, and what was judged.

    That is: of the schema as it is, with the lines that its refusal proposes, and with their
    questions answered by somebody who knows.
    """

    seed: int
    changes: tuple[str, ...]
    first: Judgement
    pasted: Judgement | None
    answered: Judgement | None = None
    lines: str = ""

    @property
    def faults(self) -> tuple[str, ...]:
        """What may not be: a wrong answer, lines that are no TOML, or that settle nothing."""
        found = [self.first.why] if self.first.verdict is Verdict.WRONG else []
        if self.pasted is None:
            return tuple(found)
        if self.pasted.verdict is Verdict.WRONG:
            found.append(f"with the proposed lines: {self.pasted.why}\n{self.lines}")
        if self.answered is not None and self.answered.verdict is Verdict.WRONG:
            found.append(f"with all questions answered: {self.answered.why}\n{self.lines}")
        new = (_asked_later(self.lines, later) for later in (self.pasted, self.answered))
        found += [f"asked only later: {line}\n{self.lines}" for line in new if line]
        return tuple(found)


def drawn(seed: int) -> tuple[Schema, tuple[str, ...]]:
    """Return the schema of a seed, and how it was changed; every tenth is left as it is."""
    chance = random.Random(seed)
    schema = plain_schema(chance)
    changes = list[str]()
    for _ in range(0 if seed % 10 == 0 else chance.randint(1, _MOST)):
        if change := chance.choice(MUTATIONS)(schema, chance):
            changes.append(change)
    return schema, tuple(changes)


def trial(seed: int, folder: Path) -> Trial:
    """Draw, serve and judge one schema, and again with the lines of its refusal."""
    schema, changes = drawn(seed)
    first = asyncio.run(judge(schema))
    lines = _lines_of(first)
    if not lines:
        return Trial(seed=seed, changes=changes, first=first, pasted=None)
    path = folder / "schema.toml"
    return Trial(
        seed=seed,
        changes=changes,
        first=first,
        pasted=_pasted(schema, lines, path),
        answered=_pasted(schema, answered(schema, lines), path),
        lines=lines,
    )


def _lines_of(judgement: Judgement) -> str:
    """Return the lines of a refusal: its last paragraph, as an operator would copy it."""
    _, _, last = judgement.why.rpartition("\n\n")
    return last if judgement.verdict is Verdict.REFUSED and last.startswith("[") else ""


def _asked_later(lines: str, later: Judgement | None) -> str:
    """Return a line of a later refusal that the first did not have, as a line or as a question."""
    asked = {line.removeprefix("# ") for line in lines.splitlines()}
    again = _lines_of(later).splitlines() if later is not None else ()
    new = (line for line in again if line.removeprefix("# ") not in asked)
    return next((line for line in new if not line.startswith("[")), "")


def _pasted(schema: Schema, lines: str, path: Path) -> Judgement:
    try:
        tomllib.loads(lines)
    except tomllib.TOMLDecodeError as error:
        return Judgement(Verdict.WRONG, f"no TOML: {error}")
    path.write_text(lines, encoding="utf-8")
    return asyncio.run(judge(schema, path))


def trials(seeds: Iterable[int]) -> Iterator[Trial]:
    """Go through the trials of seeds."""
    with tempfile.TemporaryDirectory() as folder:
        for seed in seeds:
            yield trial(seed, Path(folder))


@dataclass(slots=True)
class Tally:
    """How many schemas were judged how."""

    counts: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter[str]))
    wrong: int = 0

    def add(self, one: Trial) -> None:
        """Count one trial."""
        self.wrong += bool(one.faults)
        self.counts["all"][one.first.verdict] += 1
        self.counts[f"{len(one.changes)} changes"][one.first.verdict] += 1
        for name, judgement in (("pasted", one.pasted), ("answered", one.answered)):
            if judgement is not None:
                self.counts[f"refused, then {name}"][judgement.verdict] += 1

    def lines(self) -> Iterator[str]:
        """Go through the counts as a table."""
        for name, counts in sorted(self.counts.items()):
            cells = ", ".join(f"{verdict} {counts[verdict]}" for verdict in Verdict)
            yield f"{name:<24} {cells}"


def main() -> None:
    """Run as the arguments say; exit with 1 if anything was wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=5000)
    parser.add_argument("--first", type=int, default=0)
    arguments = parser.parse_args()
    tally = Tally()
    with suppress(KeyboardInterrupt):  # what was judged so far is worth telling
        for one in trials(range(arguments.first, arguments.first + arguments.count)):
            tally.add(one)
            if one.faults:
                print(f"seed {one.seed}: {'; '.join(one.changes)}")
                print(*(f"  {fault}" for fault in one.faults), sep="\n", flush=True)
    print(*tally.lines(), sep="\n")
    sys.exit(1 if tally.wrong else 0)


if __name__ == "__main__":
    main()
