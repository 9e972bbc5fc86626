"""A simulated rack as objects: the fleet file that the simulator writes, in the other notation."""

import base64
import tomllib
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from subprocess import DEVNULL, Popen
from typing import Any, cast

from kinds_kit import wait_until

from hostler.frontends.kubernetes.definitions.notation import key_in_object

Free = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Rack:
    """What a simulated rack is as a Provider's section, sections of Hosts, a Fleet, a Secret."""

    provider: Free
    hosts: Mapping[str, Free]
    ready: Free
    timers: Free
    secrets: Mapping[str, str]


@contextmanager
def simulated_rack(hostler: Path, folder: Path, machines: int, boot: int = 2) -> Generator[Rack]:
    """Serve a rack for as long as the context lasts; a box goes on within `boot` seconds."""
    file = folder / "rack" / "rack.toml"
    file.parent.mkdir()
    command = [
        *(str(hostler), "simulator", "power", "--machines", str(machines), "--port", "0"),
        *("--guest-port", "0", "--boot", str(boot), "--shutdown", "1", "--write-fleet", str(file)),
    ]
    with Popen(command, stdout=DEVNULL) as process:
        try:
            wait_until(file.exists, 30, "the rack")
            wait_until(lambda: "[engine]" in file.read_text(), 30, "the rack's file")
            yield _rack(tomllib.loads(file.read_text()), file.parent)
        finally:
            process.kill()


def _rack(tables: dict[str, Any], folder: Path) -> Rack:
    (provider,) = tables["provider"].values()
    (fleet,) = tables["fleet"].values()
    boxes = {box.pop("name"): _in_object(box) for box in provider.pop("boxes")}
    return Rack(
        provider=_in_object({key: value for key, value in provider.items() if key != "kind"}),
        hosts=boxes,
        ready=fleet["ready"],
        timers=_in_object(fleet["timers"]),
        secrets={
            one.name: base64.b64encode(one.read_bytes()).decode()
            for one in folder.iterdir()
            if one.suffix != ".toml"
        },
    )


def _in_object(table: Free) -> dict[str, object]:
    """Return a table with the keys of objects; what is a file there is a Secret's key here."""
    return {
        key_in_object(key): _in_object(cast("Free", value)) if isinstance(value, dict) else value
        for key, value in table.items()
    }
