"""Write the pages of docs/ that are made from code; "check" only compares them.

.venv/bin/python tools/docs.py          write them
.venv/bin/python tools/docs.py check    exit with 1 and a list where one has drifted
"""

import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Annotated, cast, get_args, get_origin

import flow
import msgspec
from cyclopts import App, Argument

from hostler.app.command_line import groups
from hostler.app.provider_registry import BUILT_IN
from hostler.config.cluster_tables import AllowTable
from hostler.config.decode import expected
from hostler.config.node_tables import (
    ExternalGrpcTable,
    ManagedTable,
    NodeTable,
    OptionsTable,
    TaintTable,
    TlsTable,
)
from hostler.config.tables import (
    CapsTable,
    EngineTable,
    FleetTable,
    MetricsTable,
    ProviderTable,
    ReadyTable,
    TimersTable,
    TopTable,
)
from hostler.config.units import A_DURATION, format_duration
from hostler.domain.fleets import precedence
from hostler.domain.model import phases
from hostler.domain.policy import gate
from hostler.domain.reporting.hosts import STATES
from hostler.frontends.cli.console.exits import MEANINGS
from hostler.frontends.cli.main import application
from hostler.frontends.fleeting.config.environment import NAMES
from hostler.frontends.fleeting.config.tables import PluginTable, ReadyKeys
from hostler.frontends.fleeting.group import states
from hostler.frontends.fleeting.schema.vocabulary.names import SLOTS
from hostler.frontends.fleeting.schema.vocabulary.synonyms import NEUTRAL, NEVER
from hostler.ports.metrics import Count, Gauge

FOLDER = Path(__file__).resolve().parent.parent / "docs"
MADE = "<!-- made by tools/docs.py: change the code, then run it -->\n"


SETTINGS = """\
# Settings

One TOML file says it all. An unknown key is an error, and all errors of a file are shown at once.
Durations are written `30s`, `10m`, `1h30m`, `24h`; sizes `20GB`. Paths are seen from the file's own
folder. `hostler check FILE` reads it and does nothing.
"""
PROVIDERS = "An account. At least one; a fleet names it where there are several."
FLEETS = """\
The name goes into tags: at most 40 lower-case letters, digits and inner dashes."""
EXAMPLES = A_DURATION.removeprefix("a duration")
"""Said once, at the top of the page."""
METRICS_PAGE = """\
# Metrics

`[metrics] listen = "127.0.0.1:9100"` serves `/metrics` for Prometheus, `/healthz` (the process
answers) and `/readyz` (503 until every fleet has been observed and decided on once).

| metric | kind | labels | meaning |
|---|---|---|---|
"""
HOST_STATES_PAGE = """\
# States of hosts

What `hostler pool FILE list`, `status`, `explain` and the metric `hostler_hosts` say of hosts that
outlive their machines. A state is what our record says; where there is none, what the host's name
says, or what is written on it.

| state | meaning |
|---|---|
{rows}
"""
REQUESTS_PAGE = """\
# Requests

What a frontend asks of the engine is recorded first. The engine answers each request in its turn:
it is carried out, or it is refused. Both are in the history of the fleet, machine or host that it
is about (`hostler history`), and a refusal that comes within the wait is the exit code of the
command (1; see [exit codes](exit-codes.md)). Some requests wait until their subject is ready for
them, such as standby for a machine that is still starting: `status` counts those that are not taken
yet. A request about a machine that there is not, or not any more, is refused; so is one about a
host that no complete observation since shows. One about a fleet that no engine has stays recorded.

## Two requests about the same subject

A row is a request that was carried out and still stands, a column a later one.

{meanings}

{tables}
## Why the later one is refused

{refusals}
"""
PHASES_PAGE = """\
# Phases

Where a machine stands in hostler's own table; the provider's status is kept beside it as
*observed*. A move that is not in the table is refused, logged and counted.

{table}

The bounds are settings of `[fleet.NAME.timers]`, see [Settings](settings.md). *desired* and
*maximum* say whether a machine counts towards the size, and towards the most that there may be.

The moves, as a state diagram in Mermaid's language:

```text
{diagram}
```
"""
STATES_PAGE = """\
# What a runner is told

GitLab Runner's plugin reports every instance of its group at each Update, from memory. What it says
follows from the machine's [phase](phases.md) and one aspect beside it.

{table}

The first row of a phase holds wherever no other row of that phase applies. Runners differ in the
states that their schema has: the first of a row that it has is told. Where it has none of them, the
instance is left out, and the runner forgets it after five updates; that happens only to what is
deleted, and to what could not be removed within its bound, which hostler goes on removing.

- *Deleting* is told only while hostler removes the machine. A runner believes it, never asks for
  the removal, and counts the instance as long as it is told.
- *Running* is told only of what answers its readiness probe and is not known to be down.
- A machine that is *stopped* after it ran is removed by hostler itself; until that begins, a
  Decrease is honoured.
- A start that fails before the machine ever ran is made again under the same id, and is *creating*
  all the while, until `timers.start` has passed since it was asked for.
"""
NAMES_PAGE = f"""\
# Names in a runner's schema

By which names the fields of a runner's schema are known, in lower case and without underscores; see
[how the schema is learnt](fleeting-schema.md). Neutral everywhere that only one thing can be meant:
{", ".join(f"`{word}`" for word in sorted(NEUTRAL))}.

Never taken under an unknown name, and never proposed, is a field with one of these words in its
name, or in the names around it: {", ".join(sorted(NEVER))}.

"""
GATE_PAGE = """\
# The gate

Every call passes this table, last thing before it is sent. A check that refuses says why: in the
log, in the history of the machine, and in `hostler_gate_refusals_total`.

{table}

For each × there is [a scene](../explanation/gate-scenes.md) in which this check alone stands
between the act and harm.
"""


FLEETING = """\
# The runner's `plugin_config`

GitLab Runner hands the table `[runners.autoscaler.plugin_config]` of its `config.toml` to
`fleeting-plugin-hostler` as JSON. An unknown key is an error, and every error of a table is in the
one message that the runner shows. Relative paths begin in the runner's working directory: write
absolute ones. [The guide](../guides/gitlab-runner.md) has a whole example.

{keys}
In `ready`, exactly one of the first three:

{ready}
A TCP or SSH probe tries the private and the public address of an instance, and one that answers is
enough. `ssh` logs in with the group's key.

## Where credentials may stand

In this order: the key itself; the file that `KEY_file` names; the environment variable of the
runner; the file that the variable with `_FILE` after its name names. A secret is never written
anywhere, nor shown in a log or a message.

{environment}
## Keys that mean nothing here

They are errors that say what to do instead.

{refused}
## What is in the state folder

`STATE_DIR/fleeting/NAME`, which only the runner's user can enter:

| file | what it is |
|---|---|
| `hostler.db` | the records: without them nobody knows which instances are ours |
| `id_ed25519` | the group's key, if none was given: instances that live know only this one |
| `group.toml` | the group as a fleet file, without secrets |
| `user-data` | what cloud-init of an instance is given: yours and the group's key |

`hostler status`, `explain`, `history` and `orphans` read `group.toml` beside the running plugin.

The key comes to instances by cloud-init: beside your own user data, in one MIME message, merged so
that lists are appended and nothing of yours is replaced. It is also registered as an SSH key of the
project, as `hostler-INSTALLATION-NAME`, unless the same key is there under another name already.
Scaleway hands such keys to **every** server of the project that boots: give runners a project of
their own. When the plugin ends in order, the registration is taken out if the group has no
instances left; while it has some it stays, for they read it again when they boot.
"""


@dataclass(frozen=True, slots=True)
class Key:
    """One key of a table in the fleet file."""

    name: str
    binds: str
    default: str
    meaning: str

    def __str__(self) -> str:
        """Return it as a row."""
        return f"| `{self.name}` | {self.binds} | {self.default} | {self.meaning} |"


def main() -> None:
    """Write the pages, or with "check" compare them, and exit."""
    made = pages()
    if sys.argv[1:] == ["check"]:
        drifted = [name for name, text in made.items() if not fits(name, text)]
        sys.exit(f"drifted: {', '.join(drifted)}; run tools/docs.py" if drifted else 0)
    for name, text in made.items():
        (FOLDER / name).write_text(text, encoding="utf-8")
        print(f"docs/{name}")


def fits(name: str, text: str) -> bool:
    """Tell whether a page stands as the code makes it."""
    page = FOLDER / name
    return page.exists() and page.read_text(encoding="utf-8") == text


def pages() -> Mapping[str, str]:
    """Return every page by its path below docs/."""
    makers: Mapping[str, Callable[[], str]] = {
        "commands.md": commands,
        "exit-codes.md": exit_codes,
        "fleeting-names.md": fleeting_names,
        "fleeting-config.md": fleeting_config,
        "fleeting-states.md": fleeting_states,
        "gate.md": gate_page,
        "metrics.md": metrics,
        "phases.md": phases_page,
        "host-states.md": host_states_page,
        "requests.md": requests_page,
        "settings.md": settings,
    }
    reference = {f"reference/{name}": MADE + maker() for name, maker in makers.items()}
    return reference | {"explanation/how-a-cycle-flows.md": MADE + flow.page()}


# ---------------------------------------------------------------- settings


def settings() -> str:
    """Return the reference of the fleet file."""
    resources = [
        SETTINGS,
        section("At the top", (TopTable,)),
        f"## `[provider.NAME]`\n\n{PROVIDERS}\n\n{table((ProviderTable,))}",
        *(kind_section(name, "settings") for name in BUILT_IN),
        f"## `[fleet.NAME]`\n\n{FLEETS}\n\n{table((FleetTable,))}",
        *(kind_section(name, "template") for name in BUILT_IN),
        section("`ready`", (ReadyTable,)),
        section("`[fleet.NAME.timers]`", (TimersTable,)) + usual_timers(),
        section("`[fleet.NAME.caps]`", (CapsTable,)),
        section("`[engine]`", (EngineTable,)),
        section("`[fleet.NAME.node]`", (NodeTable,)),
        section("`[[fleet.NAME.node.taints]]`", (TaintTable,)),
        section("`[fleet.NAME.node.managed]`", (ManagedTable,)),
        section("`[fleet.NAME.node.options]`", (OptionsTable,)),
        section("`[metrics]`", (MetricsTable,)),
        section("`[frontend.externalgrpc]`", (ExternalGrpcTable,)),
        section("`[frontend.externalgrpc.tls]`", (TlsTable,)),
        section("`[frontend.kubernetes.allow]`", (AllowTable,)),
    ]
    return "\n".join(resources)


def kind_section(name: str, half: str) -> str:
    """Return what one kind of provider adds to the tables of accounts or of fleets."""
    kind = BUILT_IN[name]()
    struct = kind.settings if half == "settings" else kind.template
    where = "its accounts take" if half == "settings" else "fleets that are bought there take"
    nested = "".join(f"\n{inner}" for inner in inner_tables(struct))
    return f"### kind `{name}`: {where}\n\n{table((struct,))}{nested}"


def usual_timers() -> str:
    """Return the defaults of kinds whose machines usually take another time than the table's."""
    rows = list[str]()
    for name, made in BUILT_IN.items():
        kind = made()
        needed = {field.encode_name: ["M2-L"] for field in fields(kind.template) if field.required}
        blueprint = kind.blueprint(None, msgspec.convert(needed, kind.template), FOLDER)
        usual = (f"`{key} = {written(time)}`" for key, time in blueprint.timers.items())
        rows += [f"- of `{name}`: {' and '.join(usual)}"] if blueprint.timers else []
    return "\n".join(["\nOther defaults, by the kind of the fleet's provider:\n", *rows, ""])


def section(title: str, structs: tuple[type[object], ...]) -> str:
    """Return a heading, the Struct's own sentence, and its keys."""
    sentence = (structs[0].__doc__ or "").splitlines()[0]
    return f"## {title}\n\n{sentence}\n\n{table(structs)}"


def table(structs: tuple[type[object], ...]) -> str:
    """Return the keys of Structs as a table."""
    rows = [str(key) for struct in structs for key in keys(struct)]
    return "\n".join(["| key | takes | default | meaning |", "|---|---|---|---|", *rows, ""])


def keys(struct: type[object]) -> Iterable[Key]:
    """Return the keys of a Struct that have a meaning to tell of."""
    for field in fields(struct):
        meaning = described(field.type)
        if meaning:
            binds = expected(field.type).replace(EXAMPLES, "").replace("|", "\\|")
            yield Key(field.encode_name, binds, default(field), meaning.replace("|", "\\|"))


def fields(struct: type[object]) -> tuple[msgspec.structs.FieldInfo, ...]:
    """Return a Struct's fields."""
    if not issubclass(struct, msgspec.Struct):
        raise TypeError(struct)
    return msgspec.structs.fields(struct)


def described(kind: object) -> str:
    """Return the description of a field's type, or an empty string."""
    if get_origin(kind) is not Annotated:
        return ""
    metas = (meta for meta in get_args(kind)[1:] if isinstance(meta, msgspec.Meta))
    return next((meta.description for meta in metas if meta.description), "")


def default(field: msgspec.structs.FieldInfo) -> str:
    """Return a default as the file would write it."""
    if field.required:
        return "needed"
    value: object = field.default
    if value is None or value is msgspec.NODEFAULT or value in {(), ""}:
        return "-"
    if isinstance(value, tuple):
        entries = cast("tuple[object, ...]", value)
        return f"`{', '.join(written(entry) for entry in entries)}`"
    return f"`{written(value)}`"


def written(value: object) -> str:
    """Return a value without quotes."""
    if isinstance(value, bool):
        return str(value).lower()
    return format_duration(value) if isinstance(value, timedelta) else str(value)


def inner_tables(struct: type[object]) -> Iterable[str]:
    """Return the tables inside a kind's table, such as `volume`, and those inside of them."""
    seen = dict[type[object], list[str]]()
    for field in fields(struct):
        for inner in structs_in(field.type):
            seen.setdefault(inner, []).append(field.encode_name)
    for inner, names in seen.items():
        title = " and ".join(f"`{name}`" for name in names)
        yield f"In {title}:\n\n{table((inner,))}"
        yield from inner_tables(inner)


def structs_in(kind: object) -> Iterable[type[object]]:
    """Return the Structs that a type is made of."""
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        yield kind
    for resource in get_args(kind):
        yield from structs_in(resource)


# ---------------------------------------------------------------- the others


def fleeting_config() -> str:
    """Return the reference of the runner's plugin_config."""
    variables = [
        f"| `{key}` | {' or '.join(f'`{n}`' for n in names)} |" for key, names in NAMES.items()
    ]
    refusals = [
        f"| `{field.encode_name}` | {cure} |"
        for field in fields(PluginTable)
        if (cure := extra(field.type, "refused"))
    ]
    return FLEETING.format(
        keys=table((PluginTable,)),
        ready=table((ReadyKeys,)),
        environment="\n".join(["| key | environment |", "|---|---|", *variables, ""]),
        refused="\n".join(["| key | instead |", "|---|---|", *refusals, ""]),
    )


def extra(kind: object, key: str) -> str:
    """Return what a field's type says beside its description, or an empty string."""
    metas = (meta for meta in get_args(kind)[1:] if isinstance(meta, msgspec.Meta))
    return next((str(m.extra[key]) for m in metas if m.extra and key in m.extra), "")


def commands() -> str:
    """Return every command with its options, from the help of the program itself."""
    app = application(groups())
    resources = ["# Commands\n", "`hostler COMMAND --help` shows the same in a terminal.\n"]
    for title, found in groups().items():
        resources.append(f"## {title}\n")
        resources += [command(app, name, run.__doc__ or "") for name, run in found.items()]
    return "\n".join(resources)


def command(app: App, name: str, summary: str) -> str:
    """Return one command: usage, what it does, and its parameters."""
    rows = list[str]()
    needed = list[str]()
    own = app
    for word in name.split():
        own = own[word]
    for argument in own.assemble_argument_collection(parse_docstring=False):
        if not argument.show:
            continue
        names = ", ".join(f"`{word}`" for word in argument.names)
        help_ = (argument.parameter.help or "").replace("|", "\\|")
        if argument.field_info.is_positional:
            word = argument.names[0].lstrip("-").upper()
            needed.append(word if argument.required else f"[{word}]")
            names = f"`{word}`"
        elif argument.required:
            needed.append(f"{argument.names[0]} {argument.names[0].lstrip('-').upper()}")
        rows.append(f"| {names} | {help_}{values(argument, help_)} |")
    usage = " ".join(["hostler", name, *needed])
    head = f"### {name}\n\n```text\n{usage}\n```\n\n{summary.strip().splitlines()[0]}\n"
    return "\n".join([head, "| parameter | meaning |", "|---|---|", *rows, ""])


def values(argument: Argument, help_: str) -> str:
    """Return the words that an option takes, where its help lacks them, and its default."""
    choices = argument.get_choices() or ()
    words = "" if all(word in help_ for word in choices) else f"; one of {', '.join(choices)}"
    value: object = argument.field_info.default
    if argument.required or not isinstance(value, str | int | float) or isinstance(value, bool):
        return words
    return f"{words}; default: `{value}`" if value != "" else words


def exit_codes() -> str:
    """Return the table of exit codes."""
    rows = [f"| {int(code)} | {meaning} |" for code, meaning in MEANINGS.items()]
    return "\n".join(["# Exit codes\n", "| code | meaning |", "|---|---|", *rows, ""])


def metrics() -> str:
    """Return the table of metrics."""
    rows = (
        f"| `{row.value.name}` | {'counter' if isinstance(row, Count) else 'gauge'} "
        f"| {', '.join(f'`{label}`' for label in row.value.labels) or '-'} | {row.value.help} |\n"
        for row in (*Gauge, *Count)
    )
    return METRICS_PAGE + "".join(rows)


def fleeting_states() -> str:
    """Return the table from phases to what a runner is told."""
    return STATES_PAGE.format(table=states.table())


def host_states_page() -> str:
    """Return every state of a host that a person is shown."""
    rows = "\n".join(f"| {state} | {meaning} |" for state, meaning in STATES.items())
    return HOST_STATES_PAGE.format(rows=rows)


def requests_page() -> str:
    """Return what becomes of every ordered pair of requests about one subject."""
    refusals = "\n".join(
        f"- a {subject}, `{kind}`: {why}" for (subject, kind), why in precedence.REFUSALS.items()
    )
    return REQUESTS_PAGE.format(
        meanings="\n".join(f"- **{word}**: {text}" for word, text in precedence.MEANINGS.items()),
        tables="\n".join(_precedence_of(subject) for subject in precedence.Subject),
        refusals=refusals,
    )


def _precedence_of(subject: precedence.Subject) -> str:
    table = precedence.TABLES[subject]
    head = " | ".join(f"`{kind}`" for kind in table.later)
    rows = [f"| `{kind}` | {' | '.join(row)} |" for kind, row in table.rows.items()]
    rule = "|---" * (len(table.later) + 1) + "|"
    return "\n".join([f"### A {subject}\n", f"| earlier, later | {head} |", rule, *rows, ""])


def phases_page() -> str:
    """Return the table of phases and its diagram."""
    return PHASES_PAGE.format(table=phases.table(), diagram=phases.diagram())


def fleeting_names() -> str:
    """Return the names by which the fields of a runner's schema are known."""
    return NAMES_PAGE + "\n".join(_names_of(call, side) for call, side in SLOTS)


def _names_of(call: str, side: str) -> str:
    rows = [
        f"| `{slot.name}` | {slot.kind} | {_listed(slot.names)} | {_listed(slot.also)} |"
        for slot in SLOTS[call, side]
    ]
    if not rows:
        return f"## {call}, {side}\n\nNothing.\n"
    head = ["| ours | holds | exact | neutral as well |", "|---|---|---|---|"]
    return "\n".join([f"## {call}, {side}\n", *head, *rows, ""])


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names) or "-"


def gate_page() -> str:
    """Return the table of the gate."""
    return GATE_PAGE.format(table=gate.table())


if __name__ == "__main__":
    main()
