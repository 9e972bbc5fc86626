"""The guide to the simulated Macs knows every fault and every deed that there is."""

import re
from pathlib import Path

from hostler.simulators.scaleway.faults.catalogue import MAC_FAULTS
from hostler.simulators.scaleway.faults.rates import BY_NAME
from hostler.simulators.scaleway.macs.console import DEEDS
from hostler.simulators.scaleway.routes import ROUTES

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "mac-simulator.md"


def test_the_guide_lists_every_fault_of_macs_in_the_words_of_the_code() -> None:
    rows = re.findall(r"^\| `([a-z_0-9]+)` \| (.+) \|$", GUIDE.read_text("utf-8"), re.MULTILINE)
    assert rows == [(fault.name, fault.words) for fault in MAC_FAULTS]


def test_the_guide_names_every_deed_and_no_fault_that_there_is_not() -> None:
    text = GUIDE.read_text("utf-8")
    assert all(f"`{deed}`" in text for deed in ("rename", *DEEDS))
    others = text[text.index("The other faults") :].split("are in `lively`")[0]
    assert set(re.findall(r"`([a-z_0-9]+)`", others)) <= set(BY_NAME) - {
        fault.name for fault in MAC_FAULTS
    }


SERVERS = GUIDE.with_name("scaleway-simulator.md")


def test_the_guide_names_the_key_of_every_route_and_no_other() -> None:
    text = SERVERS.read_text("utf-8")
    table = text[text.index("## Keys of routes") :]
    keys = re.findall(r"`([a-z_0-9]+\.[a-z_0-9.]+)`", table.split("| of | keys |")[1])
    assert sorted(keys) == sorted(ROUTES)
