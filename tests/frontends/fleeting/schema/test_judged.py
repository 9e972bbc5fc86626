"""Schemas that nobody has seen, served and judged: right or refused, and never wrong.

`make schemas` judges thousands.
"""

import asyncio
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from hostler.lab.schemas.judge import Verdict, judge
from hostler.lab.schemas.model import Field, Schema
from hostler.lab.schemas.mutations import MUTATIONS, wrap
from hostler.lab.schemas.plain import plain_schema
from hostler.lab.schemas.trials import drawn, trial, trials

FIRSTS = range(0, 400, 40)


@pytest.mark.parametrize("first", FIRSTS)
def test_no_schema_is_served_wrongly_nor_with_the_lines_that_its_refusal_proposes(
    first: int,
) -> None:
    verdicts = list[Verdict]()
    for one in trials(range(first, first + 40)):
        assert one.faults == (), (one.seed, one.changes)
        verdicts.append(one.first.verdict)
        assert one.changes or one.first.verdict is Verdict.RIGHT, (one.seed, one.first.why)
    assert verdicts.count(Verdict.RIGHT) >= 4
    assert verdicts.count(Verdict.REFUSED) >= 10


def test_schemas_under_harmless_names_and_types_are_all_right() -> None:
    for seed in range(60):
        chance = random.Random(f"harmless {seed}")
        schema = plain_schema(chance)
        found = asyncio.run(judge(schema))
        assert found.verdict is Verdict.RIGHT, (seed, found.why)


def test_questions_that_are_answered_by_who_knows_make_many_schemas_right() -> None:
    answered = [one.answered for one in trials(range(400, 460)) if one.answered is not None]
    assert sum(one.verdict is Verdict.RIGHT for one in answered) >= len(answered) // 4


def test_every_mutation_does_something_to_some_schema() -> None:
    for mutation in MUTATIONS:
        chance = random.Random(mutation.__name__)
        assert any(mutation(plain_schema(chance), chance) for _ in range(40)), mutation.__name__


def test_a_seed_draws_the_same_schema_again(tmp_path: Path) -> None:
    assert drawn(77)[1] == drawn(77)[1]
    assert trial(77, tmp_path).first == trial(77, tmp_path).first


# ---------------------------------------------------------------- the judge itself


def field(schema: Schema, key: str, means: str) -> Field:
    return next(one for _, one in schema.fields(key) if one.means == means)


def inverted(schema: Schema) -> None:
    """Let Increase tell what is missing, under the name of what was accepted."""
    field(schema, "IncreaseReply", "accepted_count").inverted = True


def halved(schema: Schema) -> None:
    field(schema, "IncreaseRequest", "count").inverted = True


def exchanged(schema: Schema) -> None:
    one = field(schema, "ConnectInfoReply", "external")
    other = field(schema, "ConnectInfoReply", "internal")
    one.means, other.means = other.means, one.means


def misspelt(schema: Schema) -> None:
    choice = schema.choices["State"]
    swap = {"creating": "deleting", "deleting": "creating"}
    choice.values = [(name, n, swap.get(means, means)) for name, n, means in choice.values]
    for _, one in schema.fields("UpdateReply"):
        one.kind = "State" if one.means in {"state", "states"} else one.kind


def late(schema: Schema) -> None:
    schema.bodies["IncreaseRequest"].fields.append(
        Field(name="trace_id", kind="string", demand="asks", number=99)
    )


@pytest.mark.parametrize("lie", [inverted, halved, exchanged, misspelt, late])
def test_the_judge_finds_what_no_mapper_could_know(lie: Callable[[Schema], None]) -> None:
    """A name that everybody knows, with another meaning: the plugin is bound to be wrong."""
    schema = plain_schema(random.Random(4))
    assert asyncio.run(judge(schema)).verdict is Verdict.RIGHT
    lie(schema)
    assert asyncio.run(judge(schema)).verdict is Verdict.WRONG


def test_the_judge_finds_a_wrong_line_of_an_operator(tmp_path: Path) -> None:
    schema = plain_schema(random.Random(4))
    reply = schema.bodies["ConnectInfoReply"]
    names = [field(schema, "ConnectInfoReply", means).name for means in ("internal", "external")]
    assert {one.name for one in reply.fields} >= set(names)
    path = tmp_path / "schema.toml"
    path.write_text(f'[ConnectInfo.reply]\nexternal = "{names[0]}"\ninternal = "{names[1]}"')
    assert asyncio.run(judge(schema, path)).verdict is Verdict.WRONG


def test_a_wrapped_value_is_still_right() -> None:
    for seed in range(10):
        chance = random.Random(f"wrapped {seed}")
        schema = plain_schema(chance)
        change = wrap(schema, chance)
        found = asyncio.run(judge(schema))
        expected = Verdict.REFUSED if " with zone" in change else Verdict.RIGHT
        assert found.verdict in {expected, Verdict.REFUSED}, (seed, change, found.why)
        assert found.verdict is not Verdict.WRONG
