"""The example of the guide: read as a runner reads it, and lived through at the simulator."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    FieldDescriptorProto,
    FileDescriptorProto,
    FileDescriptorSet,
)

from hostler.app.fleeting.group import GroupOpener
from hostler.frontends.fleeting.contract import CORE, State
from hostler.frontends.fleeting.group.group import EngineGroup
from hostler.frontends.fleeting.installation.runner_file import Runner, read_runner
from hostler.frontends.fleeting.ssh_key import read_pair
from hostler.simulators.ports import free_port
from hostler.simulators.scaleway.http import Settings, SimulatorServer, serve, world_of
from hostler.simulators.scaleway.state.inventory import NOWHERE

EXAMPLE = Path(__file__).parents[2] / "examples" / "gitlab-runner" / "config.toml"
BIN = Path(sys.executable).parent
SPEED = 20.0


@pytest.fixture
async def cloud() -> AsyncGenerator[tuple[SimulatorServer, int]]:
    guest = free_port()
    world = world_of(Settings(speed=SPEED, guest_port=guest))
    async with serve(world, "127.0.0.1", 0, SPEED, guest) as server:
        yield server, guest


def written(folder: Path, url: str, guest: int) -> Path:
    """Write the example with ports and folder of this test's own."""
    text = EXAMPLE.read_text()
    for before, after in (
        ("http://127.0.0.1:8100", url),
        ("/tmp/hostler-example", str(folder)),  # noqa: S108 - replaced, not used
        ("tcp = 2222", f"tcp = {guest}"),
    ):
        assert before in text
        text = text.replace(before, after)
    file = folder / "config.toml"
    file.write_text(text)
    return file


async def until(group: EngineGroup, wanted: dict[State, int]) -> list[str]:
    """Update as the runner does, until the states are these; return the ids."""
    async with asyncio.timeout(40):
        while True:
            found = await group.update()
            states = [instance.state for instance in found]
            if {state: states.count(state) for state in set(states)} == wanted:
                return [instance.id for instance in found]
            await asyncio.sleep(0.1)


async def lived(runner: Runner, folder: Path, group: EngineGroup) -> None:
    """Let two instances be made, reached, told of beside the plugin, and removed."""
    info = await group.init(runner.content, runner.connector, frozenset(CORE))
    assert (info.id, info.max_size) == ("hostler/ci", 4)
    assert await group.increase(2) == 2
    ids = await until(group, {State.RUNNING: 2})
    for name in ids:
        reach = await group.connect_info(name)
        assert reach.external.startswith("127.")
        assert (reach.connector.username, reach.connector.os) == ("root", "linux")
        key = (folder / "fleeting" / "ci" / "id_ed25519").read_bytes()
        assert read_pair(reach.connector.key) == read_pair(key)
        await group.heartbeat(name)
    status = await asyncio.to_thread(
        asked, "status", str(folder / "fleeting/ci/group.toml"), "--json"
    )
    assert [machine["id"] for machine in status["fleets"][0]["machines"]] == ids
    assert sorted(await group.decrease(ids)) == sorted(ids)
    await until(group, {})
    await group.shutdown()


async def test_the_example_lives_and_leaves_nothing(
    cloud: tuple[SimulatorServer, int], tmp_path: Path
) -> None:
    server, guest = cloud
    runner = read_runner(written(tmp_path, server.url, guest))
    async with asyncio.TaskGroup() as tasks:
        group = EngineGroup(GroupOpener({}, tmp_path), tasks.create_task)
        await lived(runner, tmp_path, group)
    assert server.world.leaks() == ()
    assert list(server.world.cloud.keys) == []


def schema(folder: Path) -> Path:
    """Write a descriptor set of an invented schema that can be mapped whole."""
    text, count, listed = "TYPE_STRING", "TYPE_INT32", "LABEL_REPEATED"
    messages: dict[str, dict[str, str | tuple[str, str]]] = {
        "InitRequest": {"config": "TYPE_BYTES"},
        "InitReply": {"id": text, "max_size": count, "version": text},
        "Empty": {},
        "Instance": {"id": text, "state": ".invented.State"},
        "UpdateReply": {"instances": (".invented.Instance", listed)},
        "IncreaseRequest": {"count": count},
        "IncreaseReply": {"succeeded": count},
        "DecreaseRequest": {"instances": (text, listed)},
        "DecreaseReply": {"succeeded": (text, listed)},
        "ConnectInfoRequest": {"id": text},
        "ConnectInfoReply": {
            "os": text,
            "arch": text,
            "protocol": text,
            "username": text,
            "key": "TYPE_BYTES",
            "external_addr": text,
            "internal_addr": text,
        },
        "HeartbeatRequest": {"id": text},
    }
    file = FileDescriptorProto(name="invented.proto", package="invented", syntax="proto3")
    states = file.enum_type.add(name="State")
    for number, word in enumerate(("UNKNOWN", "CREATING", "RUNNING", "DELETING")):
        states.value.add(name=word, number=number)
    for name, fields in messages.items():
        message = file.message_type.add(name=name)
        for number, (field, kind) in enumerate(fields.items(), start=1):
            add_field(message, field, number, kind)
    service = file.service.add(name="Fleeting")
    for call in ("Init", "Update", "Increase", "Decrease", "ConnectInfo", "Heartbeat", "Shutdown"):
        request = f"{call}Request" if f"{call}Request" in messages else "Empty"
        reply = f"{call}Reply" if f"{call}Reply" in messages else "Empty"
        types = {"input_type": f".invented.{request}", "output_type": f".invented.{reply}"}
        service.method.add(name=call, **types)
    path = folder / "schema.pb"
    path.write_bytes(FileDescriptorSet(file=[file]).SerializeToString())
    return path


def add_field(
    message: DescriptorProto, name: str, number: int, kind: str | tuple[str, str]
) -> None:
    word, label = (kind, "LABEL_OPTIONAL") if isinstance(kind, str) else kind
    field = message.field.add(name=name, number=number)
    field.label = FieldDescriptorProto.Label.Value(label)
    if word.startswith("TYPE_"):
        field.type = FieldDescriptorProto.Type.Value(word)
    else:
        field.type_name = word
        enum = word.endswith("State")
        field.type = FieldDescriptorProto.TYPE_ENUM if enum else FieldDescriptorProto.TYPE_MESSAGE


async def test_the_doctor_finds_the_example_in_order_and_makes_nothing(
    cloud: tuple[SimulatorServer, int], tmp_path: Path
) -> None:
    server, guest = cloud
    file = written(tmp_path, server.url, guest)
    binary = ("--binary", str(schema(tmp_path)))
    before = names(tmp_path)
    report = await asyncio.to_thread(asked, "fleeting", "doctor", str(file), *binary, "--json")
    assert report["ok"], report
    verdicts = {check["about"]: check["verdict"] for check in report["checks"]}
    assert verdicts.pop("quotas") == "warning"
    assert set(verdicts.values()) == {"ok"}
    assert {"schema", "plugin", "plugin_config", "state folder", "ssh key", "fr-par-1"} <= set(
        verdicts
    )
    assert names(tmp_path) == before
    assert server.world.leaks() == ()
    assert list(server.world.cloud.keys) == []


async def test_the_doctor_fails_where_a_private_network_is_not_there(
    cloud: tuple[SimulatorServer, int], tmp_path: Path
) -> None:
    server, guest = cloud
    file = written(tmp_path, server.url, guest)
    there = "5d1b4b2e-3c19-4f6a-9c86-0d94d7f2a111"
    asks = f'max_size = 4\nprivate_networks = ["{there}", "{NOWHERE}"]'
    file.write_text(file.read_text().replace("max_size = 4", asks))
    binary = ("--binary", str(schema(tmp_path)))
    doctor = ("fleeting", "doctor", str(file), *binary, "--json")
    report = await asyncio.to_thread(asked, *doctor, expected=1)
    assert not report["ok"]
    verdicts = {check["about"]: check["verdict"] for check in report["checks"]}
    assert verdicts[f"private network {there} in fr-par"] == "ok"
    assert verdicts[f"private network {NOWHERE} in fr-par"] == "failed"


async def test_the_doctor_fails_where_no_schema_is_found(tmp_path: Path) -> None:
    nothing = tmp_path / "runner"
    nothing.write_bytes(b"no runner")
    report = await asyncio.to_thread(
        asked, "fleeting", "doctor", "--binary", str(nothing), "--json", expected=1
    )
    assert not report["ok"]
    assert [check["about"] for check in report["checks"]] == ["schema"]


def names(folder: Path) -> list[str]:
    """Return what is in a folder."""
    return sorted(file.name for file in folder.iterdir())


def asked(*arguments: str, expected: int = 0) -> Any:
    """Run the command line and return what it printed."""
    environment = {**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}"}
    done = subprocess.run(
        [BIN / "hostler", *arguments],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
        timeout=60,
    )
    assert done.returncode == expected, done.stdout + done.stderr
    return json.loads(done.stdout)
