"""The page that names the scene of every cell: it fits the scenes, and leaves no cell out."""

from collections.abc import Iterator
from pathlib import Path

import gate_host_scenes as hosts
from gate_kit import CELLS
from gate_scenes import SCENES

from hostler.domain.policy.gate import Act

PAGE = Path(__file__).parents[3] / "docs" / "explanation" / "gate-scenes.md"

Row = tuple[str, str, str]


def rows() -> Iterator[Row]:
    """Yield a row for each scene of the tests: its check, its acts or calls, and its words."""
    acts = dict[tuple[str, str], list[Act]]()
    for (check, act), scene in SCENES.items():
        acts.setdefault((check, scene.words), []).append(act)
    for (check, words), those in acts.items():
        yield check, ", ".join(those), words
    for scene in hosts.SCENES.values():
        yield scene.check, ", ".join(scene.stages), scene.words


def written() -> tuple[Row, ...]:
    """Return the rows of the page's tables."""
    lines = (line.split("|") for line in PAGE.read_text().splitlines() if line.startswith("| G"))
    return tuple((check.strip(), what.strip(), words.strip()) for _, check, what, words, _ in lines)


def test_every_cell_of_the_gate_has_a_scene() -> None:
    of_hosts = {(scene.check, Act.DELETE) for scene in hosts.SCENES.values()}
    assert set(CELLS) == SCENES.keys() | of_hosts


def test_page_names_every_scene_and_no_other() -> None:
    assert written() == tuple(rows())
