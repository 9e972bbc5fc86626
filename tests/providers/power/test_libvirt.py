"""libvirt keeps the promises of the power port, at a real SSH server that answers as virsh."""

import asyncio
import shlex
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from pathlib import Path

import asyncssh
import msgspec
import pytest
from power_rig import NO_WAY, MethodRig
from ssh_rig import HOST_KEY, listening

from hostler.domain.model.calls import Done, Refusal, Refused, Unknown
from hostler.ports.power import PowerAction, PowerState
from hostler.providers.power.methods.libvirt import Libvirt, LibvirtTable
from hostler.simulators.power.box import BUSY, NONSENSE, Box, Closes
from hostler.testing.conformance.power.rig import PowerRig
from hostler.testing.conformance.power.suite import CHECKS, Check, run_check
from hostler.testing.fakes.power import PowerFault

APART = "a wrong key is tried apart"
VERBS = {"start": "on", "shutdown": "off_soft", "destroy": "off_hard", "reset": "cycle"}


@dataclass
class GuestRig(MethodRig):
    @property
    def lacks(self) -> Mapping[PowerFault, str]:
        return {PowerFault.UNREACHABLE: NO_WAY, PowerFault.DENIED: APART}


async def virsh(box: Box, words: list[str]) -> tuple[int, str]:
    """Answer as virsh does; raise `Closes` for an answer that is lost."""
    assert words[:3] == ["virsh", "-c", "qemu:///system"], words
    verb, option, name = words[3:]
    assert option == "--domain"
    if name != "guest-1":
        return 1, f"error: failed to get domain '{name}'\n"
    async with box.call(VERBS.get(verb, "query")) as fault:
        if fault == BUSY:
            text = "Timed out during operation: cannot acquire state change lock"
            return 1, f"error: Failed to {verb} domain '{name}'\nerror: {text}\n"
        if fault == NONSENSE:
            return -1, "<html>Welcome</html>"
        on = box.has_power()
        if verb == "domstate":
            return 0, "running\n\n" if on else "shut off\n\n"
        if on is (verb == "start"):
            why = "Domain is already active" if on else "domain is not running"
            return 1, f"error: Failed to {verb} domain '{name}'\nerror: {why}\n"
        box.obey(VERBS[verb], fault)
        return 0, f"Domain '{name}' was {verb}ed\n\n"


@asynccontextmanager
async def hypervisor(folder: Path, **more: object) -> AsyncGenerator[GuestRig]:
    """Serve a host with one guest; `answer` is what it prints whatever it is asked."""
    answer = more.pop("answer", None)
    box = Box(name="guest-1", time=asyncio.get_running_loop().time)

    async def serve(process: asyncssh.SSHServerProcess[str]) -> None:
        if answer is not None:
            process.stdout.write(str(answer))
            process.exit(0)
            return
        shell, option, script = shlex.split(process.command or "")
        assert (shell, option) == ("sh", "-c")
        language, *words = shlex.split(script.partition(" 2>&1")[0])
        assert language == "LC_ALL=C"
        try:
            status, text = await virsh(box, words)
        except Closes:
            process.channel.get_connection().abort()
            return
        process.stdout.write(text)
        if status >= 0:
            process.stdout.write(f"\nvirsh ended with {status}\n")
        process.exit(0)

    async with listening(folder, serve) as known:
        known |= {"guest": "guest-1", "deadline": timedelta(seconds=2)}
        yield GuestRig(Libvirt(), box, msgspec.convert(known | more, LibvirtTable), secrets=())


@asynccontextmanager
async def as_port(folder: Path) -> AsyncGenerator[PowerRig]:
    async with hypervisor(folder) as rig:
        yield rig


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
async def test_method_keeps_the_promise_that(check: Check, tmp_path: Path) -> None:
    left_out = await run_check(check, partial(as_port, tmp_path))
    assert left_out in {
        "",
        NO_WAY,
        APART,
        "it can be asked",
        "it can do everything",
        "it has no secret",
    }


@pytest.mark.parametrize(
    ("printed", "state"),
    [
        ("running", PowerState.ON),
        ("paused", PowerState.ON),
        ("in shutdown", PowerState.ON),
        ("shut off", PowerState.OFF),
        ("crashed", PowerState.UNKNOWN),
        ("pmsuspended", PowerState.UNKNOWN),
        ("no state", PowerState.UNKNOWN),
        ("running shut off", PowerState.UNKNOWN),
    ],
)
async def test_a_state_of_a_domain_is_read(printed: str, state: PowerState, tmp_path: Path) -> None:
    answer = f"{printed}\n\n\nvirsh ended with 0\n"
    async with hypervisor(tmp_path, answer=answer) as rig:
        assert (await rig.open().query()).state is state


ERRORS = {
    "error: failed to connect to the hypervisor": Refusal.NOT_SENT,
    "error: failed to get domain 'guest-1'": Refusal.INVALID,
    "error: cannot acquire state change lock": Refusal.BUSY,
    "error: internal error: it broke": None,
    "": None,
}


@pytest.mark.parametrize("text", ERRORS)
async def test_an_error_of_virsh_promises_what_it_says(text: str, tmp_path: Path) -> None:
    async with hypervisor(tmp_path, answer=f"{text}\n\nvirsh ended with 1\n") as rig:
        power = rig.open()
        outcome, reading = await power.act(PowerAction.ON), await power.query()
    assert reading.state is PowerState.UNKNOWN
    assert reading.text
    if (why := ERRORS[text]) is None:
        assert isinstance(outcome, Unknown)
    else:
        assert isinstance(outcome, Refused)
        assert outcome.why is why


HOSTILE = {
    "empty": "",
    "html": "<html>virsh ended with</html>",
    "lines": "\n" * 200_000,
    "long": "virsh ended with " + "9" * 200_000,
    "no end": "Domain 'guest-1' started\n",
    "an end of something else": "running\nvirsh ended with 0 problems\n",
}


@pytest.mark.parametrize("name", HOSTILE)
async def test_no_answer_of_another_sort_is_taken_for_one(name: str, tmp_path: Path) -> None:
    async with hypervisor(tmp_path, answer=HOSTILE[name]) as rig:
        power = rig.open()
        async with asyncio.timeout(20):
            outcome, reading = await power.act(PowerAction.ON), await power.query()
    assert not isinstance(outcome, Done)
    assert reading.state is PowerState.UNKNOWN


async def test_a_key_that_is_not_taken_is_tried_once(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.write_bytes(HOST_KEY.export_private_key())
    async with hypervisor(tmp_path, key=str(other)) as rig:
        power = rig.open()
        outcome = await power.act(PowerAction.ON)
        assert isinstance(outcome, Refused)
        assert outcome.why is Refusal.DENIED
        assert "not tried again before" in (await power.query()).text
        assert rig.arrived() == ()


@pytest.mark.parametrize("name", ["a b", "a;reboot", "$(reboot)", "-x", "", "a'b", "a\nb"])
def test_a_name_that_a_shell_could_read_is_no_guest(name: str) -> None:
    known = {"address": "a", "fingerprint": f"SHA256:{'A' * 43}"}
    with pytest.raises(msgspec.ValidationError, match="guest"):
        msgspec.convert(known | {"guest": name}, LibvirtTable)


@pytest.mark.parametrize("name", ["7", "101", "007"])
def test_a_number_is_no_guest_for_it_means_another_one_after_each_start(name: str) -> None:
    """`virsh` takes a number for the id that a running guest got at its start, before any name."""
    known = {"address": "a", "fingerprint": f"SHA256:{'A' * 43}"}
    with pytest.raises(msgspec.ValidationError, match="guest"):
        msgspec.convert(known | {"guest": name}, LibvirtTable)
    uuid = "00000000-0000-4000-8000-000000000101"
    for fine in (f"vm-{name}", f"{name}a", uuid):
        assert msgspec.convert(known | {"guest": fine}, LibvirtTable).guest == fine
