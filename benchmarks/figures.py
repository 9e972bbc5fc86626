"""Figures: one number each, beside the goal that it is held against; JSON lines or for people."""

import json
import logging
import os
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import structlog

FASTER = "× real time"
"""The one unit of which more is better: its goals are the least that will do."""


@dataclass(frozen=True, slots=True)
class Figure:
    """One number, and its goal: None where it only stands beside another one."""

    name: str
    goal: float | None
    figure: float
    unit: str

    def row(self) -> dict[str, str | float | None]:
        """Return the figure as the JSON object that every benchmark prints."""
        return {
            "name": self.name,
            "goal": self.goal,
            "figure": rounded(self.figure),
            "unit": self.unit,
        }


def rounded(number: float) -> float:
    """Return a number with four digits that count, all of those before the point kept."""
    return float(f"{number:.4g}") if abs(number) < 1000 else round(number)


def line(figure: Figure) -> str:
    """Return a figure as a line for people."""
    goal = "" if figure.goal is None else f"goal {figure.goal:,g}"
    return f"{figure.name:<62} {rounded(figure.figure):>9,g} {figure.unit:<11} {goal}".rstrip()


def show(figures: Iterable[Figure]) -> None:
    """Print figures: a JSON line each where `--json` was asked for, else lines for people."""
    for figure in figures:
        if "--json" in sys.argv:
            print(json.dumps(figure.row(), ensure_ascii=False), flush=True)
        else:
            print(line(figure), flush=True)


def resident(process: int | None = None) -> float:
    """Return the megabytes that a process has in memory: this one, unless another is named."""
    pages = int(Path(f"/proc/{process or 'self'}/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def silence() -> None:
    """Let nothing be logged: it would fill the screen, and stand between the figures."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
