"""Proposals: what an override file would have to say, as lines that are sure and as questions.

Sure lines are of the only field with a likely name, in a place that is known. All else is for a
person who knows what a field means, and is asked at once: also what would be asked only after the
first answers.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from msgspec import Struct
from msgspec.structs import replace

from hostler.frontends.fleeting.schema.vocabulary.names import (
    REPLY,
    REQUEST,
    UPDATE_LIST,
    UPDATE_STATE,
    VERDICT_SLOTS,
)
from hostler.frontends.fleeting.schema.vocabulary.naming import plain
from hostler.frontends.fleeting.schema.vocabulary.slots import Kind, Need, Slot

from .accounting import Unaccounted
from .mapping import CallMap, ServiceMap, map_service
from .match import Level, Match
from .override import ALWAYS, UNUSED

_ROUNDS = 4
"""How often new questions are looked for behind answers."""
_MOST = 6
"""Candidates of a list or a state behind which questions are looked for."""
_MANY = 400
"""Candidates of which a schema that could be a runner's has fewer."""


class Proposal(Struct, frozen=True, kw_only=True):
    """One entry of an override file: in what table, its key and value as TOML, and a remark.

    A question is written as a comment, and counts only if a person takes it for true.
    """

    table: str
    key: str
    value: str
    question: bool
    remark: str = ""

    @property
    def line(self) -> str:
        """The entry as a line of TOML."""
        start = "# " if self.question else ""
        remark = f"   # {self.remark}" if self.remark else ""
        return f"{start}{self.key} = {self.value}{remark}"


def proposals(found: ServiceMap) -> tuple[Proposal, ...]:
    """Return every line that would settle what is refused."""
    sure = list[Proposal]()
    for _ in range(_ROUNDS):
        settled = _with(found, sure)
        new = [one for one in _sure(settled) if one not in sure]
        if not new:
            break
        sure += new
    questions = dict[tuple[str, str, str], Proposal]()
    settled = _with(found, sure)
    for supposed in islice(_supposed(settled), _how_many(settled)):
        for one in (*_questions(supposed), *_sure(supposed)):
            questions.setdefault((one.table, one.key, one.value), replace(one, question=True))
    return (*sure, *questions.values())


def _how_many(found: ServiceMap) -> int:
    """Return behind how many answers questions are looked for: a host waits for this."""
    candidates = sum(len(one.candidates) for _, _, one in found.matches() if one.refused)
    return 40 if candidates <= _MANY else 2


def _supposed(found: ServiceMap) -> Iterator[ServiceMap]:
    """Go through a mapping, and what it would be if a candidate were the answer.

    That is each list of instances and each state, and behind them whatever is the only candidate.
    """
    lists = (found, *(_with(found, [answer]) for answer in _options(found, UPDATE_LIST)))
    for listed in lists:
        states = (_with(listed, [answer]) for answer in _options(listed, UPDATE_STATE))
        for start in (listed, *states):
            yield from _chain(start)


def _chain(supposed: ServiceMap) -> Iterator[ServiceMap]:
    """Go through a mapping, and what it would be with each sole candidate for the answer."""
    yield supposed
    for _ in range(_ROUNDS):
        answers = list(_sole(supposed))
        if not answers:
            return
        supposed = _with(supposed, answers)
        yield supposed


def _options(found: ServiceMap, slot: Slot) -> Sequence[Proposal]:
    """Return what a person may say of one field of Update's answer, as answers."""
    one = found.calls["Update"].reply.get(slot.name) if "Update" in found.calls else None
    if one is None or not one.refused:
        return ()
    return [
        Proposal(table=f"Update.{REPLY}", key=slot.name, value=f'"{name}"', question=False)
        for name in (*one.candidates, *one.barred)[:_MOST]
    ]


def _sole(found: ServiceMap) -> Iterator[Proposal]:
    """Go through the answers that are the only ones."""
    claimed = set[tuple[str, str]]()
    for call, side, one in found.matches():
        table, options = f"{call}.{side}", one.candidates or one.barred
        if one.refused and len(options) == 1 and (table, options[0]) not in claimed:
            claimed.add((table, options[0]))
            yield Proposal(table=table, key=one.slot.name, value=f'"{options[0]}"', question=False)


def _with(found: ServiceMap, lines: Sequence[Proposal]) -> ServiceMap:
    """Return the mapping as it is with these lines in the override file."""
    if not lines:
        return found
    entries = {
        name: dict(table) for name, table in found.override.tables.get(found.name, {}).items()
    }
    for one in lines:
        entries.setdefault(one.table, {})[one.key] = one.value.strip('"')
    tables: Mapping[str, Mapping[str, Mapping[str, str]]] = {
        **found.override.tables,
        found.name: entries,
    }
    return map_service(found.service, replace(found.override, tables=tables))


def _sure(found: ServiceMap) -> Iterator[Proposal]:
    """Go through the lines that need no answer."""
    for call, side, one in found.matches():
        if one.refused and one.likely:
            kind = str(one.slot.kind)
            yield Proposal(
                table=f"{call}.{side}",
                key=one.slot.name,
                value=f'"{one.likely}"',
                question=False,
                remark=kind,
            )
    for state, value in found.states.proposals.items() if found.states else ():
        if value:
            yield Proposal(table="states", key=str(state), value=f'"{value}"', question=False)


def _questions(found: ServiceMap) -> Iterator[Proposal]:
    """Go through what a person must answer."""
    for call, side, one in found.matches():
        if one.refused and not one.likely:
            yield from _of_match(f"{call}.{side}", one)
    for name, call in found.calls.items():
        yield from _of_call(name, call)
    for state, value in found.states.proposals.items() if found.states else ():
        for other in () if value or found.states is None else found.states.others:
            yield Proposal(table="states", key=str(state), value=f'"{other}"', question=True)


def _of_match(table: str, one: Match) -> Iterator[Proposal]:
    def question(value: str, remark: str = "") -> Proposal:
        return Proposal(
            table=table, key=one.slot.name, value=f'"{value}"', question=True, remark=remark
        )

    for candidate in sorted(one.candidates, key=lambda name: name != one.hinted):
        yield question(candidate, "likely" if candidate == one.hinted else "")
    for candidate in one.barred:
        yield question(candidate, "its name says something else: hardly")
    if one.slot.need is not Need.CRITICAL and one.slot.name not in VERDICT_SLOTS:
        yield question("", "there is none")


def _of_call(name: str, call: CallMap) -> Iterator[Proposal]:
    for one in call.unaccounted:
        yield from _of_absent(name, one, call)
        beside, remark = (ALWAYS, "always") if one.side == REPLY else (UNUSED, "nobody needs it")
        for answer in one.answers:
            yield Proposal(
                table=f"{name}.{one.side}.{beside}",
                key=f'"{one.name}"',
                value=answer,
                question=True,
                remark=remark,
            )


def _of_absent(name: str, one: Unaccounted, call: CallMap) -> Iterator[Proposal]:
    """Go through what a field could be, of what the schema seems to lack, or what is in it."""
    found = (call.request if one.side == REQUEST else call.reply).values()
    named = [match.slot for match in found if _is_name_of(one.name, match.slot)]
    for match in found:
        absent = match.level is Level.ABSENT and not match.settled
        other = any(slot.kind is match.slot.kind and slot is not match.slot for slot in named)
        for candidate in (*match.candidates, *match.barred) if absent and not other else ():
            if one.name in {candidate, _around(candidate, match.slot)}:
                yield Proposal(
                    table=f"{name}.{one.side}",
                    key=match.slot.name,
                    value=f'"{candidate}"',
                    question=True,
                )


def _around(candidate: str, slot: Slot) -> str:
    """Return the list or message that stands for the id or time in it, or an empty string."""
    return candidate.rpartition(".")[0] if slot.kind in {Kind.IDS, Kind.TIME} else ""


def _is_name_of(name: str, slot: Slot) -> bool:
    """Tell whether a field's name is one by which a logical field may be known."""
    return plain(name.rpartition(".")[2]) in {*slot.names, *slot.also, *slot.hints}


def tables(found: Sequence[Proposal], service: str) -> Iterator[str]:
    """Go through the lines of an override file; `service`: under its name, "" for every one."""
    start = f'"{service}".' if service else ""
    by_table = dict[str, list[Proposal]]()
    for one in found:
        by_table.setdefault(one.table, []).append(one)
    for name, lines in by_table.items():
        yield f"[{start}{name}]"
        yield from (one.line for one in lines)
