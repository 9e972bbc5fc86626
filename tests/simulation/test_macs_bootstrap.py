from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from random import Random

import pytest

from hostler.domain.ids import AccountName, HostId, InstallationId, MachineId, Zone
from hostler.domain.model.host import Host, HostBootstrap
from hostler.domain.policy.host_keys import HostKey
from hostler.lab.checks.shadow_store import ShadowStore
from hostler.lab.macs.bootstrap import BootstrapCheck
from hostler.lab.macs.demands import COMMANDS, Demands
from hostler.lab.macs.ground_truth import Asked, Change, Fact, GroundTruth
from hostler.lab.macs.ssh import Login, Logins
from hostler.ports.preparer import Order
from hostler.simulators.scaleway.state.mac_records import MacStatus
from hostler.simulators.scaleway.world import World
from hostler.testing.invariants import Found

OURS, HOST, M = InstallationId("i1"), HostId("h1"), MachineId("m-aaaaaaaaaa")
START = datetime(2026, 1, 1, tzinfo=UTC)
FACT = Fact(name="pool-1", named=0.0, cycle=0, status=MacStatus.READY, moved=0.0, used=0)


@dataclass
class Scene:
    """One host with a bootstrap, and an installation that logs in to it."""

    now: float = 0.0

    def __post_init__(self) -> None:
        self.world = World(lambda: self.now, Random(1))
        demands = Demands(commands=COMMANDS)
        self.bootstraps = BootstrapCheck(
            GroundTruth(self.world, 60.0), demands, Logins(self.world, {}, 1)
        )
        self.shadow = ShadowStore(own=OURS, fleets={})

    def at(self, minute: float) -> None:
        self.now = minute * 60.0
        self.world.advance()

    def logs_in(
        self, minute: float, key: str, expected: str = "", begun: float | None = None
    ) -> Found:
        """Log in at a minute; `begun` is the minute in which that was asked for."""
        self.at(minute)
        order = Order(machine=M, fingerprint=expected)
        asked = (minute if begun is None else begun) * 60.0
        login = Login(host=HOST, order=order, presented=key, entered=True, begun=asked)
        return self.bootstraps.tried(self.shadow, login)

    def saves(self, minute: float, key: str, presented: float) -> Found:
        self.at(minute)
        host_key = HostKey(key=key, at=START + timedelta(minutes=presented))
        host = Host(
            id=HOST,
            account=AccountName("main"),
            zone=Zone("fr-par-1"),
            bootstrap=HostBootstrap(host_key=host_key),
        )
        return self.bootstraps.believed(self.shadow, host)

    def wipes(self, minute: float, own: str = OURS) -> None:
        self.at(minute)
        by = Asked(ours=(InstallationId(own),), machine=M, act="reinstall", name="", begun=0.0)
        change = Change(what="wiped", host=HOST, by=by, before=FACT, late=False)
        self.bootstraps.noted(change)


def names(found: Found) -> list[str]:
    return [violation.invariant for violation in found]


def test_a_wipe_while_commands_run_opens_the_key_that_was_shown_before_and_is_saved_after() -> None:
    scene = Scene()
    assert not scene.logs_in(1, "a")
    scene.wipes(2)
    assert not scene.saves(3, "a", presented=1)
    assert not scene.logs_in(20, "b")
    assert not scene.saves(21, "b", presented=20)


@pytest.mark.parametrize("wiped", [0.0, None])
def test_no_other_key_is_let_in_where_the_last_wipe_was_before_it_was_shown(
    wiped: float | None,
) -> None:
    scene = Scene()
    if wiped is not None:
        scene.wipes(wiped)
    assert not scene.logs_in(1, "a")
    assert not scene.saves(3, "a", presented=1)
    assert names(scene.logs_in(20, "b")) == ["host-key"]
    assert names(scene.saves(21, "b", presented=20)) == ["host-key"]


def test_a_wipe_of_another_installation_opens_no_pin_of_ours() -> None:
    scene = Scene()
    assert not scene.logs_in(1, "a")
    scene.wipes(2, own="i2")
    assert not scene.saves(3, "a", presented=1)
    assert names(scene.logs_in(20, "b")) == ["host-key"]


def test_a_key_that_is_shown_again_is_as_old_as_when_it_was_last_shown() -> None:
    scene = Scene()
    assert not scene.logs_in(1, "a")
    assert not scene.saves(2, "a", presented=1)
    scene.wipes(3)
    assert not scene.logs_in(4, "a")
    assert not scene.saves(5, "a", presented=4)
    assert names(scene.logs_in(20, "b")) == ["host-key"]


def test_who_paused_before_a_key_was_pinned_and_logs_in_afterwards_knows_none() -> None:
    scene = Scene()
    assert not scene.logs_in(10, "a")
    assert not scene.saves(11, "a", presented=10)
    assert not scene.logs_in(20, "a", begun=9)
    assert names(scene.logs_in(21, "a", begun=10)) == ["host-key"]
