"""Reach: in which seeds would a broken place have had another value than the code has there?

A seed in which a mutant's place always has the value that it has without the mutant cannot notice
it. So all mutants of a sample stand in one copy of the tree, each beside what it replaces: the code
goes on with its own value, and notes where the mutant's would have been another one.
"""

import ast
import json
import os
import subprocess
import sys
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import cast

_MODULE = "hostler_reach"

_PROBE = '''"""Which mutants would have had another value than the code, in the seed that runs."""

found = set()


def differs(own, *mutants):
    """Return the code's own value, and note each mutant that has another one or raises."""
    value = own()
    for number, other in mutants:
        if number not in found:
            try:
                there = other()
                same = type(there) is type(value) and there == value
            except Exception:
                same = False
            if not same:
                found.add(number)
    return value
'''

_WATCH = f"""import json, sys
import {_MODULE}
from hostler.lab.scenario.faults import Size
from hostler.lab.simulate.providers import PROVIDERS
from hostler.lab.simulate.seeds import run_seed
provider, first, many = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
size = Size(machines=None, days=PROVIDERS[provider].days)
for seed in range(first, first + many):
    {_MODULE}.found.clear()
    run_seed(seed, size, provider=provider)
    print(json.dumps([seed, sorted({_MODULE}.found)]), flush=True)
"""

_TOGETHER = 10
"""Seeds that one process runs after each other: its start takes as long as half a seed."""

_ELSEWHERE = (ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom)
"""What means something else in a function of its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """An expression of a file, and the source of what stands there instead.

    `start` and `end` are (line, column) as Python counts them.
    """

    path: Path
    start: tuple[int, int]
    end: tuple[int, int]
    after: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """The seeds of each provider that can notice a mutant; all of them where that is not known."""

    seeds: Mapping[str, tuple[int, ...]]
    known: bool


def reach(
    folder: Path, places: Sequence[Place], providers: Sequence[Collection[str]], many: int
) -> list[Reach]:
    """Return for each place which of the first seeds of its providers can notice its mutant.

    `folder` is a copy of the tree, which holds what it held when this ends.
    """
    whole = {place.path: (folder / place.path).read_bytes() for place in places}
    watched = set[int]()
    try:
        (folder / "src" / f"{_MODULE}.py").write_text(_PROBE, encoding="utf-8")
        for path, raw in whole.items():
            here = {number: place for number, place in enumerate(places) if place.path == path}
            probe = _Probe(here)
            (folder / path).write_text(probe.of(raw.decode()), encoding="utf-8")
            watched |= probe.watched
        names = sorted({name for some in providers for name in some})
        found = _watched(folder, names, many)
    finally:
        for path, raw in whole.items():
            (folder / path).write_bytes(raw)
    return [
        Reach(
            seeds={
                name: tuple(
                    seed
                    for seed in range(1, many + 1)
                    if number not in watched or number in found[name, seed]
                )
                for name in providers[number]
            },
            known=number in watched,
        )
        for number in range(len(places))
    ]


def _watched(
    folder: Path, providers: Sequence[str], many: int
) -> dict[tuple[str, int], frozenset[int]]:
    """Run the first seeds of these providers; return which mutants differed in each."""
    starts = [(name, first) for name in providers for first in range(1, many + 1, _TOGETHER)]

    def run(start: tuple[str, int]) -> list[tuple[tuple[str, int], frozenset[int]]]:
        name, first = start
        numbers = str(first), str(min(_TOGETHER, many + 1 - first))
        printed = subprocess.run(
            (sys.executable, "-c", _WATCH, name, *numbers),
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(folder / "src")},
            stdout=subprocess.PIPE,
            check=True,
            text=True,
        ).stdout
        rows = map(json.loads, printed.splitlines())
        return [((name, seed), frozenset(differing)) for seed, differing in rows]

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return dict(row for rows in pool.map(run, starts) for row in rows)


class _Probe(ast.NodeTransformer):
    """Puts the mutants of one file beside what they replace, where both can be evaluated.

    That is in the bodies of functions: what runs as a module is imported belongs to no seed.
    """

    def __init__(self, places: Mapping[int, Place]) -> None:
        self._places = places
        self._inside = False
        self.watched = set[int]()

    def of(self, source: str) -> str:
        """Return the source of the file with its probes."""
        tree = ast.parse(source)
        tree.body = self._within(tree.body, inside=False)
        importing = ast.parse(f"from {_MODULE} import differs as _differs").body
        first = 1 if ast.get_docstring(tree) is not None else 0
        tree.body[first:first] = importing
        return ast.unparse(ast.fix_missing_locations(tree))

    def visit(self, node: ast.AST) -> ast.AST:
        """Visit what runs when a function is called, and put probes there."""
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                node.body = self._within(node.body, inside=True)
            case ast.ClassDef():
                node.body = self._within(node.body, inside=False)
            case ast.AnnAssign(value=ast.expr() as value):
                node.value = cast("ast.expr", self.visit(value))
            case ast.JoinedStr() | ast.MatchValue() | ast.AnnAssign():
                pass  # a pattern is no expression; those in texts have no places of their own
            case _:
                numbers = self._numbers(node) if isinstance(node, ast.expr) else []
                self.generic_visit(node)
                return self._beside(cast("ast.expr", node), numbers) if numbers else node
        return node

    def _within(self, body: list[ast.stmt], *, inside: bool) -> list[ast.stmt]:
        before, self._inside = self._inside, inside
        found = [cast("ast.stmt", self.visit(statement)) for statement in body]
        self._inside = before
        return found

    def _numbers(self, node: ast.expr) -> list[int]:
        """Return the numbers of the mutants of a node that both can be evaluated here."""
        start = node.lineno, node.col_offset
        end = node.end_lineno, node.end_col_offset
        parts = tuple(ast.walk(node))
        bound = any(
            isinstance(part, _ELSEWHERE)
            or (isinstance(part, ast.comprehension) and part.is_async)
            or (isinstance(part, ast.Name) and part.id == "super")
            for part in parts
        )
        if not self._inside or bound:
            return []
        return [n for n, place in self._places.items() if (place.start, place.end) == (start, end)]

    def _beside(self, node: ast.expr, numbers: Sequence[int]) -> ast.expr:
        self.watched.update(numbers)
        others = [
            ast.Tuple(
                elts=[
                    ast.Constant(value=number),
                    _later(ast.parse(self._places[number].after, mode="eval").body),
                ],
                ctx=ast.Load(),
            )
            for number in numbers
        ]
        name = ast.Name(id="_differs", ctx=ast.Load())
        return ast.Call(func=name, args=[_later(node), *others], keywords=[])


def _later(body: ast.expr) -> ast.Lambda:
    arguments = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
    return ast.Lambda(args=arguments, body=body)
