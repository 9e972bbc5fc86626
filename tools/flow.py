"""The page that shows how a cycle flows, made from the stages of a decision and its commands."""

import ast
import inspect
import re
import textwrap
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import get_args

from hostler.controllers.observe.snapshot import gather
from hostler.domain.decide import STAGES, decide
from hostler.domain.decision.commands import decision_of
from hostler.domain.decision.draft import DecisionStage
from hostler.domain.decision.view import view_of
from hostler.domain.machines.next_calls import allowed
from hostler.domain.model.commands import Command
from hostler.domain.observation.outcomes import apply_outcome
from hostler.domain.policy.gate import pass_gate
from hostler.ports.provider import Provider
from hostler.ports.store import Store

PAGE = """\
# How a cycle flows

One cycle goes one way: what is seen and recorded is frozen, a pure function turns it into commands,
and only then is anything saved or called. This page is made from the code that runs.

```text
{picture}
```

The same in Mermaid's language:

```text
{diagram}
```

## The stages of a decision

`STAGES` in `domain/decide.py` is the whole way. Each stage is handed the draft and returns it with
its answer in it; none sees a clock, a store or a provider.

{stages}
## The commands

What a finished draft comes to. They are carried out in the order in which losing the process
between any two of them loses nothing: the row first, bindings before the machines that have them,
new machines last.

{commands}
## Hosts that no machine has

Where hosts outlive machines, the account has a cycle of its own for them after those of its fleets.
It is gathered in the same way; `decide_hosts` is asked of every host, and what a host is brought to
goes the same way through the gate.
"""

Step = Callable[..., object]

BEFORE: tuple[Step, ...] = (Provider.observe, gather, view_of)
AFTER: tuple[Step, ...] = (decision_of, Store.save_machine, allowed, pass_gate, apply_outcome)
"""What comes before the stages of a decision, and after them."""


def page() -> str:
    """Return the page."""
    stages = [
        f"| `{stage.__name__}` | {question(stage)} | {', '.join(f'`{f}`' for f in grows(stage))} |"
        for stage in STAGES
    ]
    commands = [f"| `{kind.__name__}` | {first_line(kind)} |" for kind in get_args(Command)]
    return PAGE.format(
        picture="\n".join(picture()),
        diagram="\n".join(diagram()),
        stages="\n".join(["| stage | asks | answers in |", "|---|---|---|", *stages, ""]),
        commands="\n".join(["| command | says |", "|---|---|", *commands, ""]),
    )


def picture() -> Iterator[str]:
    """Yield the lines of the picture: one for each step, and what it asks or does."""
    width = max(len(step.__name__) for step in (*BEFORE, *STAGES, *AFTER)) + 8
    for step in BEFORE:
        yield f"{step.__name__:<{width}}{briefly(step)}"
        yield "   │"
    yield f"{decide.__name__:<{width}}{briefly(decide)}"
    for stage in STAGES:
        yield f"   ├─ {stage.__name__:<{width - 6}}{question(stage)}"
    for step in AFTER:
        yield "   │"
        yield f"{step.__name__:<{width}}{briefly(step)}"


def diagram() -> Iterator[str]:
    """Yield the lines of a flow chart."""
    yield "flowchart TD"
    way = [step.__name__ for step in (*BEFORE, *STAGES, *AFTER)]
    for before, after in pairwise(way):
        yield f"    {before} --> {after}"
    yield f"    {way[-1]} -. the next cycle .-> {way[0]}"


def question(stage: DecisionStage) -> str:
    """Return what a stage asks: the first sentence of its docstring."""
    return first_line(stage).partition("?")[0] + "?"


def briefly(thing: object) -> str:
    """Return what a docstring promises first."""
    return re.split(r"[;:.]", first_line(thing))[0]


def first_line(thing: object) -> str:
    """Return the first line of a docstring."""
    text = inspect.getdoc(thing)
    if not text:
        raise ValueError(f"{thing!r} has no docstring")
    return text.splitlines()[0]


def grows(stage: DecisionStage) -> list[str]:
    """Return the fields of the draft that a stage fills, as its code says."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(stage)))
    return [
        keyword.arg
        for call in ast.walk(tree)
        if isinstance(call, ast.Call) and _is_of_draft(call)
        for keyword in call.keywords
        if keyword.arg is not None
    ]


def _is_of_draft(call: ast.Call) -> bool:
    """Tell whether a call is `replace(draft, ...)`."""
    named = isinstance(call.func, ast.Name) and call.func.id == "replace"
    first = call.args[0] if call.args else None
    return named and isinstance(first, ast.Name) and first.id == "draft"
