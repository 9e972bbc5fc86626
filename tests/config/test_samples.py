"""The pieces of fleet files in the guides are read as they stand there.

An older autoscaler's samples named fields that its objects did not have. A piece that is no whole
file is completed by what every file needs, and by nothing that the piece itself says.
"""

import re
import tomllib
from pathlib import Path
from typing import Any, cast

import pytest

from hostler.app.provider_registry import KINDS
from hostler.app.store_registry import STORES
from hostler.config.load import Reading

GUIDES = Path(__file__).parents[2] / "docs" / "guides"
PAGES = ("owned-machines", "nodes", "cluster-autoscaler", "static-hosts")
BOX: dict[str, Any] = {"name": "box", "tasmota": {"url": "http://192.0.2.9"}}
OF_A_PACKAGE = "amt"
"""A method that the guide has as one that somebody else's package might bring."""
RACK: dict[str, Any] = {"kind": "power", "boxes": [{**BOX, "name": f"box-{n}"} for n in range(8)]}
PIECES = [
    (page, number, text)
    for page in PAGES
    for number, text in enumerate(
        re.findall(r"```toml\n(.*?)```", (GUIDES / f"{page}.md").read_text(), re.DOTALL)
    )
    if f".{OF_A_PACKAGE}]" not in text
]


def test_there_are_pieces_of_every_page() -> None:
    assert {page for page, _, _ in PIECES} == set(PAGES)


@pytest.mark.parametrize(
    ("page", "text"),
    [(page, text) for page, _, text in PIECES],
    ids=[f"{page}-{number}" for page, number, _ in PIECES],
)
def test_30_a_piece_of_a_file_is_read_as_it_stands_in_its_guide(page: str, text: str) -> None:
    reading = Reading(path=Path(f"{page}.toml"), kinds=KINDS, stores=STORES)
    config = reading.read(_whole(tomllib.loads(text)))
    assert reading.faults.found == []
    assert config is not None


def _whole(piece: dict[str, Any]) -> dict[str, Any]:
    providers = piece.setdefault("provider", {"rack": dict(RACK)})
    fleets = piece.setdefault("fleet", {"nodes": {}})
    if (rack := providers.get("rack")) is not None:
        rack.setdefault("kind", "power")
        rack["boxes"] = [_box(one) for one in _list(rack.get("boxes", [BOX]))]
    for fleet in fleets.values():
        fleet.setdefault("size", 0)
    if grpc := piece.get("frontend", {}).get("externalgrpc"):
        grpc.setdefault("listen", "127.0.0.1:0")
        fleets["nodes"] = {"renews": False, "maximum": 1, **fleets.get("nodes", {"size": 0})}
    return piece


def _list(found: Any) -> list[Any]:
    """Return boxes as a list; a piece about one method alone is about a box."""
    return cast("list[Any]", found) if isinstance(found, list) else [found]


def _box(piece: dict[str, Any]) -> dict[str, Any]:
    alone = piece.keys() <= {"name", "address", "price", "reachability"}
    return {**(BOX if alone else {"name": BOX["name"]}), **piece}
