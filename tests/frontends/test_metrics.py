from collections.abc import AsyncGenerator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import aiohttp
import pytest
from cli_kit import WEB, made
from prometheus_client.parser import text_string_to_metric_families

from hostler.config.values import Listen
from hostler.domain.errors import ConfigError
from hostler.domain.ids import AccountName, FleetName, PartId, Zone
from hostler.domain.model.phases import Phase
from hostler.domain.model.snapshot import Suspect, SuspectClass
from hostler.frontends.metrics.metrics import METRICS, PrometheusMeters
from hostler.frontends.metrics.serve import serving

MAIN = AccountName("main")
ANY = Listen(host="127.0.0.1", port=0)


@dataclass(slots=True)
class BootClock:
    """Stands still until a test moves it."""

    at: float = 100.0

    def now(self) -> datetime:
        return datetime.fromtimestamp(self.at, UTC)

    def boot(self) -> float:
        return self.at

    async def sleep(self, time: timedelta) -> None:
        self.at += time.total_seconds()


Sample = tuple[str, tuple[tuple[str, str], ...]]


def samples(meters: PrometheusMeters) -> dict[Sample, float]:
    """Return all values by name and labels, as Prometheus' own parser reads them."""
    families = text_string_to_metric_families(meters.page().decode())
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in families
        for sample in family.samples
        if not sample.name.endswith("_created")
    }


def suspect(name: str, price: float) -> Suspect:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    return Suspect(
        part=PartId(name),
        kind="server",
        zone=Zone("z"),
        fleet=WEB,
        cls=SuspectClass.STRAY,
        first=now,
        last=now,
        price=price,
    )


def test_machines_are_counted_by_phase_and_phases_that_are_empty_are_nought() -> None:
    meters = PrometheusMeters(BootClock())
    meters.machines(WEB, (made(1), made(2), made(3, Phase.BROKEN)))
    meters.machines(WEB, (made(1),))
    found = samples(meters)
    assert found["hostler_machines", (("fleet", "web"), ("phase", "ready"))] == 1
    assert found["hostler_machines", (("fleet", "web"), ("phase", "broken"))] == 0
    assert not any(("phase", "gone") in labels for _, labels in found)


def test_what_happens_is_counted_under_its_labels() -> None:
    meters = PrometheusMeters(BootClock())
    meters.moved(WEB, "starting", "ready", "up")
    meters.called(MAIN, "server.create", "refused_out_of_stock")
    meters.called(MAIN, "server.create", "refused_out_of_stock")
    meters.barred("G7")
    meters.unseen(MAIN, "z", "host")
    meters.alarmed(WEB, "host_taken")
    meters.illegal()
    meters.bug("turn")
    meters.strange(MAIN, "melting")
    found = samples(meters)
    moved = (("fleet", "web"), ("from", "starting"), ("reason", "up"), ("to", "ready"))
    called = (("call", "server.create"), ("outcome", "refused_out_of_stock"), ("provider", "main"))
    assert found["hostler_transitions_total", moved] == 1
    assert found["hostler_calls_total", called] == 2
    assert found["hostler_gate_refusals_total", (("check", "G7"),)] == 1
    assert found["hostler_alarms_total", (("fleet", "web"), ("reason", "host_taken"))] == 1
    unseen = (("kind", "host"), ("provider", "main"), ("zone", "z"))
    assert found["hostler_looks_failed_total", unseen] == 1
    assert found["hostler_illegal_moves_total", ()] == 1
    assert found["hostler_bugs_total", (("where", "turn"),)] == 1
    strange = (("provider", "main"), ("status", "melting"))
    assert found["hostler_unknown_statuses_total", strange] == 1


def test_the_age_of_the_look_goes_on_growing() -> None:
    clock = BootClock()
    meters = PrometheusMeters(clock)
    meters.looked(MAIN, timedelta(seconds=3))
    clock.at += 40
    assert samples(meters)["hostler_look_age_seconds", (("provider", "main"),)] == 43


def test_suspects_that_are_gone_count_nothing() -> None:
    meters = PrometheusMeters(BootClock())
    labels = (("class", "stray"), ("fleet", "web"), ("zone", "z"))
    meters.suspects((suspect("a", 0.5), suspect("b", 0.25)))
    found = samples(meters)
    assert found["hostler_suspects", labels] == 2
    assert found["hostler_suspects_euros_per_hour", labels] == 0.75
    meters.suspects(())
    assert ("hostler_suspects", labels) not in samples(meters)


def test_stray_hosts_are_told_under_their_upstream_names_too() -> None:
    meters = PrometheusMeters(BootClock())
    meters.suspects((replace(suspect("a", 0.5), kind="host"), suspect("b", 0.25)))
    meters.reclaimed(FleetName("web"), "taken_back")
    meters.reclaimed(FleetName("web"), "failed")
    found = samples(meters)
    assert found["scaleway_orphan_servers", ()] == 1
    assert found["scaleway_orphan_servers_reclaimed_total", ()] == 1
    assert found["hostler_reclaimed_total", (("fleet", "web"), ("result", "failed"))] == 1


def test_hosts_of_a_state_that_none_is_in_count_nothing() -> None:
    meters = PrometheusMeters(BootClock())
    labels = (("provider", "main"), ("state", "free"), ("type", "M2-L"), ("zone", "z"))
    meters.hosts(MAIN, {("z", "M2-L", "free"): 3})
    assert samples(meters)["hostler_hosts", labels] == 3
    meters.hosts(MAIN, {("z", "M2-L", "held"): 3})
    assert ("hostler_hosts", labels) not in samples(meters)


def test_hosts_tell_until_when_they_are_paid_as_long_as_they_stand() -> None:
    meters = PrometheusMeters(BootClock())
    metric = "hostler_host_paid_until_timestamp_seconds"
    until = datetime(2026, 6, 12, 7, 6, 59, tzinfo=UTC)
    meters.paid(MAIN, {("z", "mac-1"): until, ("z", "mac-2"): until})
    of = (("host", "mac-1"), ("provider", "main"), ("zone", "z"))
    assert samples(meters)[metric, of] == until.timestamp()
    meters.paid(MAIN, {("z", "mac-2"): until})
    assert (metric, of) not in samples(meters)


def test_the_longest_settling_is_kept() -> None:
    meters = PrometheusMeters(BootClock())
    for seconds in (2, 9, 4):
        meters.settled(MAIN, "server.create", timedelta(seconds=seconds))
    labels = (("call", "server.create"), ("provider", "main"))
    assert samples(meters)["hostler_settle_seconds_max", labels] == 9


def test_two_registries_do_not_know_each_other() -> None:
    one, other = PrometheusMeters(BootClock()), PrometheusMeters(BootClock())
    one.illegal()
    assert samples(other)["hostler_illegal_moves_total", ()] == 0


def test_every_metric_keeps_the_conventions() -> None:
    for metric in METRICS:
        assert metric.name.startswith(("hostler_", "scaleway_orphan_servers"))
        assert metric.name.endswith("_total") == (metric.kind == "counter")
        assert metric.help


@pytest.fixture
async def client() -> AsyncGenerator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession() as session:
        yield session


async def test_the_door_serves_metrics_and_health(client: aiohttp.ClientSession) -> None:
    meters = PrometheusMeters(BootClock())
    async with serving(ANY, meters, (WEB,)) as at:
        base = f"http://127.0.0.1:{at.port}"
        async with client.get(f"{base}/healthz") as answer:
            assert answer.status == 200
        async with client.get(f"{base}/metrics") as answer:
            assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
            assert "hostler_illegal_moves_total 0.0" in await answer.text()
        async with client.get(f"{base}/") as answer:
            assert answer.status == 404


async def test_it_is_ready_after_the_first_turn_of_every_fleet(
    client: aiohttp.ClientSession,
) -> None:
    meters = PrometheusMeters(BootClock())
    async with serving(ANY, meters, (WEB,)) as at:
        url = f"http://127.0.0.1:{at.port}/readyz"
        async with client.get(url) as answer:
            assert answer.status == 503
            assert "no turn of web" in await answer.text()
        meters.machines(WEB, ())
        async with client.get(url) as answer:
            assert answer.status == 200


async def test_a_taken_port_is_a_clear_error() -> None:
    meters = PrometheusMeters(BootClock())
    async with serving(ANY, meters, ()) as at:
        with pytest.raises(ConfigError, match=f"cannot listen on 127.0.0.1:{at.port}"):
            async with serving(at, meters, ()):
                pytest.fail("two servers on one port")


def test_the_reference_lists_every_metric_with_its_labels() -> None:
    page = (Path(__file__).parents[2] / "docs" / "reference" / "metrics.md").read_text()
    for metric in METRICS:
        labels = ", ".join(f"`{label}`" for label in metric.labels) or "-"
        assert f"| `{metric.name}` | {metric.kind} | {labels} | {metric.help} |" in page
