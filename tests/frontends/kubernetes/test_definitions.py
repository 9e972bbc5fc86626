"""One schema, two notations: what an object may say is what the fleet file may say."""

import errno
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import cast

import pytest
import yaml

from hostler.app.command_line import run
from hostler.app.provider_registry import KINDS
from hostler.config.decode import decode_table
from hostler.config.errors import Faults
from hostler.config.structure import bare_of, extra, fields_of, refusal, struct_of
from hostler.config.tables import FleetTable, ProviderTable, ReadyTable
from hostler.frontends.kubernetes.definitions.manifests import custom_kinds, manifests
from hostler.frontends.kubernetes.definitions.notation import key_in_object, keys_by_name
from hostler.frontends.kubernetes.definitions.schema import fields_in_object
from hostler.frontends.kubernetes.definitions.sections import accounts, hosts, templates

Schema = Mapping[str, object]
TABLES = {
    "fleet": FleetTable,
    "provider": ProviderTable,
    **{f"{kind} fleet": table for kind, table in templates(KINDS).items()},
    **{f"{kind} account": table for kind, table in accounts(KINDS).items()},
    **{f"{kind} host": table for kind, table in hosts(KINDS).items()},
}


def structs(table: type[object]) -> Iterator[type[object]]:
    """Yield a table and all tables inside of it."""
    yield table
    for field in fields_of(table):
        bare = bare_of(field.type, None)
        for inner in (bare, *getattr(bare, "__args__", ())):
            struct = struct_of(bare_of(inner, None))
            if struct is not None:
                yield from structs(struct)


EVERY = {struct.__name__: struct for table in TABLES.values() for struct in structs(table)}


@pytest.mark.parametrize("table", EVERY.values(), ids=EVERY)
def test_every_key_of_a_table_is_one_of_an_object(table: type[object]) -> None:
    expected = {
        field.encode_name
        for field in fields_of(table)
        if not refusal(field.type) and not extra(field.type, "local")
    }
    found = keys_by_name(table)
    assert {field.encode_name for field in found.values()} == expected
    assert len(found) == len(expected)
    assert fields_in_object(table).properties.keys() == found.keys()


@pytest.mark.parametrize("table", EVERY.values(), ids=EVERY)
def test_what_a_table_needs_an_object_needs(table: type[object]) -> None:
    needed = {field.encode_name for field in fields_of(table) if field.required}
    assert set(fields_in_object(table).required) == {key_in_object(key) for key in needed}


VALUES: tuple[object, ...] = (
    *(True, False, -1, 0, 1, 2, 3, 17, 1000, 1001, 65_535, 65_536, 100_001, 0.0005, 0.5, 1.5),
    *("", "a", "api", "ssh", "0s", "1s", "10m", "1h30m", "1y", "20GB", "soon", "keep", "on"),
    *("fr-par-1", "DEV1-S", "4", "16Gi", "NoExecute", "52:54:00:12:34:56", "a" * 300),
    *([], ["a"], ["10m"], [1], {}, {"a": "b"}, {"a": 1}),
)
"""Some that most keys take, and some that most refuse."""


@pytest.mark.parametrize("table", EVERY.values(), ids=EVERY)
def test_an_object_may_say_what_the_file_may_say(table: type[object]) -> None:
    """What the schema refuses the file refuses too, and but for what it cannot express likewise."""
    schemas = fields_in_object(table).properties
    for key, field in keys_by_name(table).items():
        if "Here: the name of a key" in str(schemas[key].get("description", "")):
            continue  # in a file it names a variable or a file
        for value in VALUES:
            assert_agree(field.encode_name, table, value, schemas[key])


def assert_agree(key: str, table: type[object], value: object, schema: Schema) -> None:
    faults = Faults()
    decode_table({key: value}, (table,), "", faults)
    refused = any(fault.path.startswith(key) for fault in faults.found)
    allowed = judge(schema, value)
    words = extra_words(table)
    if refused and allowed:
        assert "pattern" not in schema, (key, value)
        assert unexpressed(table, key), (key, value)
    if allowed is False and not refused:
        assert value in words or long_text(value, schema), (key, value)


def extra_words(table: type[object]) -> set[str]:
    return {field.encode_name for field in fields_of(table) if extra(field.type, "local")}


def long_text(value: object, schema: Schema) -> bool:
    return isinstance(value, str) and len(value) > cast("int", schema.get("maxLength", 0))


def unexpressed(table: type[object], key: str) -> bool:
    """Tell whether a key has a pattern that Kubernetes cannot read, alone or as an item."""
    field = next(f for f in fields_of(table) if f.encode_name == key)
    return "(?" in repr(field.type)


def judge(schema: Schema, value: object) -> bool:
    """Tell whether a value fits a schema, as Kubernetes would; what is inside of objects aside."""
    anything = schema.get("x-kubernetes-preserve-unknown-fields") is True
    return (anything or _typed(schema, value)) and all(check(schema, value) for check in CHECKS)


def _typed(schema: Schema, value: object) -> bool:
    match str(schema.get("type", "any")):
        case "boolean" | "integer" | "number" | "string" as name:
            kinds = {"boolean": bool, "integer": int, "number": int | float, "string": str}
            return isinstance(value, kinds[name]) and (name == "boolean") == isinstance(value, bool)
        case "any":
            return True
        case "array":
            items = cast("Schema", schema["items"])
            return _is_list(value) and all(judge(items, one) for one in _listed(value))
        case _:
            return isinstance(value, dict) and _object(schema, cast("Mapping[str, object]", value))


def _is_list(value: object) -> bool:
    return isinstance(value, list)


def _listed(value: object) -> list[object]:
    return cast("list[object]", value)


def _object(schema: Schema, value: Mapping[str, object]) -> bool:
    free = cast("Schema | None", schema.get("additionalProperties"))
    if free is not None:
        return all(judge(free, one) for one in value.values())
    known = cast("Mapping[str, Schema]", schema["properties"])
    needed = cast("list[str]", schema.get("required", []))
    return value.keys() <= known.keys() and set(needed) <= value.keys()


def _in_range(schema: Schema, value: object) -> bool:
    if not isinstance(value, int | float):
        return True
    low, high = schema.get("minimum", value), schema.get("maximum", value)
    return cast("float", low) <= value <= cast("float", high)


def _long_enough(schema: Schema, value: object) -> bool:
    if _is_list(value):
        return len(_listed(value)) >= cast("int", schema.get("minItems", 0))
    if not isinstance(value, str):
        return True
    longest = cast("int", schema.get("maxLength", len(value)))
    return cast("int", schema.get("minLength", 0)) <= len(value) <= longest


def _matches(schema: Schema, value: object) -> bool:
    also = cast("list[Schema]", schema.get("allOf", []))
    patterns = [str(one["pattern"]) for one in (schema, *also) if "pattern" in one]
    return not isinstance(value, str) or all(re.search(one, value, re.ASCII) for one in patterns)


def _listed_word(schema: Schema, value: object) -> bool:
    return value in cast("list[object]", schema.get("enum", [value]))


CHECKS: tuple[Callable[[Schema, object], bool], ...] = (
    _in_range,
    _long_enough,
    _matches,
    _listed_word,
)


def test_what_runs_a_program_beside_the_engine_is_in_no_object() -> None:
    assert "command" not in keys_by_name(ReadyTable)
    assert "command" not in keys_by_name(hosts(KINDS)["power"])
    probe = fields_in_object(ReadyTable).properties["probe"]
    assert probe["enum"] == ["api", "tcp", "ssh", "node"]


def test_every_field_is_explained() -> None:
    for kind in custom_kinds(KINDS):
        for fields in (kind.spec, kind.status):
            for name, schema in fields.properties.items():
                assert schema.get("description"), (kind.full_name, name)


def test_defaults_are_told_of_and_not_written_into_objects() -> None:
    """What is left out stays left out: another version may have another default."""
    spec = fields_in_object(FleetTable).properties
    timers = cast("Mapping[str, Schema]", spec["timers"]["properties"])
    assert str(timers["drain"]["description"]).endswith("Default: 1h.")
    assert '"default"' not in json.dumps(manifests(KINDS))


def test_the_command_prints_what_is_installed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["kubernetes", "crds"]) == 0
    printed = list(yaml.safe_load_all(capsys.readouterr().out))
    assert printed == [json.loads(json.dumps(one)) for one in manifests(KINDS)]


def test_a_kubeconfig_that_is_not_there_is_named(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    missing = tmp_path / "nowhere"
    assert run(["kubernetes", "install", "--kubeconfig", str(missing)]) != 0
    assert f"{missing}: there is no such kubeconfig file" in capsys.readouterr().err


def test_a_kubeconfig_in_a_folder_that_we_may_not_see_is_a_sentence(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such as another user's: `--kubeconfig /root/.kube/config`."""
    closed, stat = tmp_path / "closed" / "config", Path.stat

    def may_not(path: Path, *, follow_symlinks: bool = True) -> os.stat_result:
        if path == closed:
            raise PermissionError(errno.EACCES, "Permission denied")
        return stat(path, follow_symlinks=follow_symlinks)

    monkeypatch.setattr(Path, "stat", may_not)
    assert run(["kubernetes", "install", "--kubeconfig", str(closed)]) != 0
    assert f"kubeconfig {closed} cannot be read" in capsys.readouterr().err
