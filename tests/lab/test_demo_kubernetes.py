"""Parts of the demo of Kubernetes: when it is good, what changes, and which control plane runs."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random

import pytest
from msgspec.structs import replace

from hostler.app.clock import SystemClock
from hostler.domain.errors import ConfigError
from hostler.lab.demo.kubernetes import control_plane
from hostler.lab.demo.kubernetes.control_plane import Choice, ControlPlane, Kind, Opening, opened
from hostler.lab.demo.kubernetes.sampling import HostState, Row, Sample, changes
from hostler.lab.demo.kubernetes.tally import KubernetesTally
from hostler.testing.peers.go_hosts import GoHosts, NoGo

GOOD = KubernetesTally(
    control_plane="simulated",
    machines=3,
    rolled=3,
    strays_found=1,
    reclaimed=1,
    evicted=2,
    least_ready=3,
)


def test_a_demo_is_good_if_all_of_it_happened() -> None:
    assert GOOD.good


@pytest.mark.parametrize(
    "changed",
    [
        replace(GOOD, rolled=2),
        replace(GOOD, deleted_hosts=1),
        replace(GOOD, strays_found=0, reclaimed=0),
        replace(GOOD, reclaimed=0),
        replace(GOOD, evicted=0),
        replace(GOOD, least_ready=2),
        replace(GOOD, leaks=1),
        replace(GOOD, failed="not within 240 s: all Machines run"),
    ],
)
def test_a_demo_of_which_anything_did_not_happen_is_not_good(changed: KubernetesTally) -> None:
    assert not changed.good


def test_changes_are_told_once_in_words() -> None:
    before = Sample(
        rows=(Row(name="a", phase="Running", node="Ready"), Row(name="b", phase="Running")),
        hosts={"h": HostState.IN_USE},
    )
    row = Row(name="a", phase="Running", going=True, node="cordoned", pods=("p", "q"))
    after = Sample(rows=(row,), hosts={"h": HostState.WIPING})
    assert changes(before, after, {"h": "mac-1"}) == [
        "Machine a: Deleting",
        "Node a: cordoned",
        "Machine b: gone",
        "mac-1: being wiped",
    ]
    assert changes(after, after, {}) == []


# ---------------------------------------------------------------- which control plane


@asynccontextmanager
async def plane(choice: Choice, folder: Path, texts: list[str]) -> AsyncGenerator[ControlPlane]:
    opening = Opening(folder=folder, clock=SystemClock(), random=Random(1), tell=texts.append)
    async with opened(choice, None, opening) as one:
        yield one


@pytest.fixture
def without_go(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Nothing is built, and there is nothing to build it with."""

    def no_go(oldest: tuple[int, int]) -> Path:
        raise NoGo(f"no go of {oldest} or later")

    monkeypatch.setattr(control_plane, "go_program", no_go)
    for name in ("CONTROL_PLANE", "CLUSTER_API"):
        monkeypatch.setattr(control_plane, name, GoHosts(tmp_path / "none", tmp_path / "cache"))


@pytest.mark.usefixtures("without_go")
async def test_what_cannot_be_built_is_simulated_and_that_is_said(tmp_path: Path) -> None:
    texts = list[str]()
    async with plane(Choice.AUTO, tmp_path, texts) as one:
        assert one.kind is Kind.SIMULATED
        assert one.kubeconfig.stat().st_mode & 0o077 == 0
    assert texts[0] == "the real control plane cannot be built: no go of (1, 25) or later"
    assert "SIMULATED" in texts[1]


@pytest.mark.usefixtures("without_go")
async def test_a_real_control_plane_that_is_asked_for_is_never_simulated(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be built: no go of"):
        async with plane(Choice.REAL, tmp_path, []):
            pass
