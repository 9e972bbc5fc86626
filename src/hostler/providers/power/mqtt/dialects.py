"""Dialects: the topics and payloads of the firmwares that speak MQTT. Pure."""

import json
from collections.abc import Callable, Mapping

from msgspec import Struct

from hostler.ports.power import PowerState

_WORDS = {"ON": PowerState.ON, "OFF": PowerState.OFF}


class Dialect(Struct, frozen=True, kw_only=True):
    """One relay behind a broker: where it is told and asked, where it answers, and how that reads.

    `command` and `ask` are a topic and a payload, `command` for each state; `states` are the topics
    of its answers; `read` returns how it stands by an answer, None where that says nothing.
    """

    command: Mapping[PowerState, tuple[str, str]]
    ask: tuple[str, str]
    states: tuple[str, ...]
    read: Callable[[str], PowerState | None]


def tasmota(topic: str, outlet: int) -> Dialect:
    """Return how a relay with Tasmota is told; a device with a single one leaves its number out."""
    name = f"POWER{outlet}"
    command = f"cmnd/{topic}/{name}"
    names = ("POWER", name) if outlet == 1 else (name,)
    return Dialect(
        command={state: (command, word) for word, state in _WORDS.items()},
        ask=(command, ""),
        states=tuple(f"stat/{topic}/{one}" for one in names),
        read=lambda payload: _WORDS.get(payload.strip().upper()),
    )


def zigbee2mqtt(topic: str, outlet: int) -> Dialect:
    """Return how a plug behind zigbee2mqtt is told; of several outlets each has a key."""
    key = "state" if outlet == 1 else f"state_l{outlet}"
    base = f"zigbee2mqtt/{topic}"

    def read(payload: str) -> PowerState | None:
        try:
            answer = json.loads(payload)
        except (ValueError, RecursionError):
            return None
        known: object = answer.get(key) if isinstance(answer, dict) else None  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] - JSON
        return _WORDS.get(known.upper()) if isinstance(known, str) else None

    return Dialect(
        command={state: (f"{base}/set", json.dumps({key: word})) for word, state in _WORDS.items()},
        ask=(f"{base}/get", json.dumps({key: ""})),
        states=(base,),
        read=read,
    )


DIALECTS: Mapping[str, Callable[[str, int], Dialect]] = {
    "tasmota": tasmota,
    "zigbee2mqtt": zigbee2mqtt,
}
