"""An adversary renames, retypes and adds fields; what is served all the same must be the truth."""

import os
import random
from collections.abc import Mapping
from dataclasses import dataclass

from schema_kit import mapped, written

from hostler.frontends.fleeting.schema.advice import override_lines
from hostler.frontends.fleeting.schema.mapping.mapping import ServiceMap
from hostler.frontends.fleeting.schema.vocabulary.names import SLOTS
from hostler.frontends.fleeting.schema.vocabulary.synonyms import ENUM_WORDS, NEUTRAL, NEVER

GroundTruth = Mapping[tuple[str, str, str], str]

# Message, then for each field: its number, its type, and what it truly is.
FIELDS: dict[str, list[tuple[int, str, str]]] = {
    "Connector": [
        (1, "string", "os"),
        (2, "string", "arch"),
        (3, "string", "protocol"),
        (4, "int32", "protocol_port"),
        (5, "string", "username"),
        (6, "string", "password"),
        (7, "bytes", "key"),
        (8, "bool", "use_static_credentials"),
        (9, "google.protobuf.Duration", "keepalive"),
        (10, "google.protobuf.Duration", "timeout"),
    ],
    "InitRequest": [(1, "bytes", "config"), (2, "Connector", "connector")],
    "InitReply": [
        (1, "string", "id"),
        (2, "int64", "max_size"),
        (3, "string", "version"),
        (4, "string", "build_info"),
        (5, "repeated string", "capabilities"),
    ],
    "UpdateReply": [(1, "string", "id"), (2, "State", "state")],
    "IncreaseRequest": [(1, "int64", "count")],
    "IncreaseReply": [(1, "int64", "succeeded")],
    "DecreaseRequest": [(1, "repeated string", "ids")],
    "DecreaseReply": [(1, "repeated string", "succeeded")],
    "ConnectInfoRequest": [(1, "string", "id")],
    "ConnectInfoReply": [
        (1, "string", "id"),
        (2, "Connector", "connector"),
        (3, "string", "external"),
        (4, "string", "internal"),
        (5, "google.protobuf.Timestamp", "expires"),
    ],
    "HeartbeatRequest": [(1, "string", "id")],
}
KNOWN = {
    (call + side.title(), slot.name): slot for (call, side), of in SLOTS.items() for slot in of
}
INNER = {slot.name: slot for slot in SLOTS["Init", "request"]}
TAKEN = {name for slots in SLOTS.values() for one in slots for name in (*one.names, *one.also)}
HINTS = {name for slots in SLOTS.values() for one in slots for name in one.hints}
ODD = ("zone", "stamp", "trace", "api_version", "size_hint", "fresh", "kind", "alpha", "beta_rank")
SPOKEN = {word for words in ENUM_WORDS.values() for word in words}
DECOYS = sorted({*NEVER, *ODD, *HINTS} - TAKEN - NEUTRAL - SPOKEN)
AROUND = (
    *("bastion", "fallback", "previous", "proxy_info", "failed"),
    *("alpha", "zone", "next", "other"),
)
TYPES = ("string", "repeated string", "int64", "int32", "bytes", "bool", "State", "double")


@dataclass
class Adversary:
    """Draws one schema, and knows what is true of it."""

    chance: random.Random
    strength: float = 1.0

    def schema(self) -> tuple[dict[str, str], GroundTruth]:
        """Return the bodies of messages, and the numbers at which each logical field truly is.

        Half of all schemas are changed little: nearly every change is refused.
        """
        self.strength = self.chance.choice((0.1, 1.0))
        bodies = {name: self._body(name, fields) for name, fields in FIELDS.items()}
        bodies["Decoy"] = self._decoys(200)
        return bodies, ground_truth()

    def _body(self, message: str, fields: list[tuple[int, str, str]]) -> str:
        used = set[str]()
        parts = [self._true(message, *field, used) for field in fields]
        types = [part.rpartition(" = ")[0].rpartition(" ")[0] for part in parts]
        if types == [kind for _, kind, _ in fields]:
            parts += self._neutral(used)
        if self.chance.random() < 0.5 * self.strength:
            parts += self._added(message, used)
        self.chance.shuffle(parts)
        return " ".join(parts)

    def _true(self, message: str, number: int, kind: str, is_: str, used: set[str]) -> str:
        """Return a true field under one of its names, sometimes an unknown or a wrong one."""
        slot = KNOWN.get((message, is_)) or (INNER.get(is_) if message == "Connector" else None)
        name = self.chance.choice(slot.names) if slot else is_
        drawn = self.chance.random() / self.strength
        if slot and drawn < 0.06:
            name = self.chance.choice(DECOYS)
        elif slot and slot.also and drawn < 0.1:
            name = self.chance.choice(slot.also)
        if slot and self.chance.random() < 0.02 * self.strength:
            kind = self.chance.choice(TYPES)
        name = name if name not in used else f"{name}_{number}x"
        used.add(name)
        return f"{kind} {name} = {number};"

    def _neutral(self, used: set[str]) -> list[str]:
        """Return a decoy whose name says nothing; only where the true fields have their types.

        Alone of its type in a message of one meaning, it would rightly be taken.
        """
        name = self.chance.choice(sorted(NEUTRAL - used))
        if self.chance.random() < 1 - 0.2 * self.strength:
            return []
        used.add(name)
        return [f"{self.chance.choice(TYPES)} {name} = 140;"]

    def _added(self, message: str, used: set[str]) -> list[str]:
        """Return decoys: odd names of all types, and known names in places that are not ours."""
        names = [n for n in self.chance.sample(DECOYS, 3) if n not in used]
        used.update(names)
        parts = [
            f"{self.chance.choice(TYPES)} {name} = {100 + place};"
            for place, name in enumerate(names[: self.chance.randint(0, 3)])
        ]
        around = self.chance.choice(AROUND)
        if around not in used and message != "Decoy" and self.chance.random() < 0.5:
            parts.append(f"{self.chance.choice(('', 'repeated '))}Decoy {around} = 150;")
        return parts

    def _decoys(self, number: int) -> str:
        """Return a message full of the best names, which wherever it stands is not ours."""
        names = self.chance.sample(sorted(TAKEN), 12)
        return " ".join(
            f"{self.chance.choice(TYPES)} {name} = {number + place};"
            for place, name in enumerate(names)
        )


def ground_truth() -> GroundTruth:
    """Return the numbers at which each logical field is, by call, side and name."""
    found = dict[tuple[str, str, str], str]()
    for message, fields in FIELDS.items():
        call, side = (message.removesuffix(end) for end in ("Request", "Reply")), ""
        name = min(call, key=len)
        side = "request" if message.endswith("Request") else "reply"
        for number, kind, is_ in fields:
            if kind == "Connector":
                for inner, _, what in FIELDS["Connector"]:
                    found[name, side, what] = f"{number}.{inner}"
            elif message != "Connector":
                found[name, side, is_] = str(number)
    return found


def lies(service: ServiceMap, true: GroundTruth) -> list[str]:
    """Return the fields that a mapping takes for something that they are not.

    What is in a list of instances that is refused itself is shown, and never taken.
    """
    update = service.calls["Update"].reply.get("instances")
    displayed = update is not None and update.refused
    return [
        f"{call}.{side}.{match.slot.name} is not {match.leaf.name} ({match.level})"
        for call, side, match in service.matches()
        if not (displayed and (call, side) == ("Update", "reply"))
        if match.leaf is not None and match.leaf.numbers != true.get((call, side, match.slot.name))
    ]


def rounds() -> int:
    """Return how many schemas are drawn; more by hand."""
    return int(os.environ.get("HOSTLER_SCHEMA_ROUNDS", "400"))


def test_no_field_is_ever_taken_for_what_it_is_not() -> None:
    whole = refused = 0
    for seed in range(rounds()):
        bodies, true = Adversary(random.Random(seed)).schema()
        service = mapped(written(bodies))
        assert lies(service, true) == [], (seed, bodies)
        whole, refused = whole + service.whole, refused + (not service.whole)
    assert whole > rounds() // 20
    assert refused > rounds() // 20


def test_a_schema_that_is_served_is_served_with_all_that_jobs_need() -> None:
    needed = {("Init", "request", "config"), ("ConnectInfo", "reply", "username")}
    for seed in range(rounds()):
        bodies, true = Adversary(random.Random(seed)).schema()
        service = mapped(written(bodies))
        if not service.whole:
            continue
        taken = {(c, s, m.slot.name): m.leaf for c, s, m in service.matches()}
        for place in needed:
            leaf = taken[place]
            assert leaf is None or leaf.numbers == true[place], (seed, place)
        assert taken["Init", "request", "config"] is not None, seed


def test_the_lines_that_a_refusal_proposes_are_always_a_file_that_can_be_read() -> None:
    for seed in range(rounds()):
        bodies, _ = Adversary(random.Random(seed)).schema()
        file = written(bodies)
        lines = override_lines(mapped(file), several=False)
        mapped(file, "\n".join(lines))
