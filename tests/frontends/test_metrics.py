from collections.abc import AsyncGenerator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import aiohttp
import pytest
from cli_kit import WEB, made
from msgspec.structs import replace
from prometheus_client.parser import text_string_to_metric_families

from hostler.config.values import Listen
from hostler.controllers.runtime.measurements import (
    count_taken_back,
    forget_account,
    measure_age,
    measure_machines,
    measure_orphans,
)
from hostler.domain.errors import ConfigError
from hostler.domain.ids import AccountName, ResourceId, Zone
from hostler.domain.model.phases import Phase
from hostler.domain.model.resource import OrphanClass
from hostler.domain.model.snapshot import Orphan
from hostler.frontends.metrics.metrics import PrometheusMetrics
from hostler.frontends.metrics.serve import serving
from hostler.ports.metrics import Count, Gauge
from hostler.testing.fakes.metrics import CountingMetrics

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


def samples(metrics: PrometheusMetrics) -> dict[Sample, float]:
    """Return all values by name and labels, as Prometheus' own parser reads them."""
    families = text_string_to_metric_families(metrics.page().decode())
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in families
        for sample in family.samples
        if not sample.name.endswith("_created")
    }


def orphan(name: str, price: float) -> Orphan:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    return Orphan(
        resource=ResourceId(name),
        kind="server",
        zone=Zone("z"),
        fleet=WEB,
        cls=OrphanClass.UNRECORDED,
        first=now,
        last=now,
        price=price,
    )


def test_machines_are_counted_by_phase_and_phases_that_are_empty_are_nought() -> None:
    metrics = PrometheusMetrics(BootClock())
    measure_machines(metrics, WEB, (made(1), made(2), made(3, Phase.FAILED)))
    measure_machines(metrics, WEB, (made(1),))
    found = samples(metrics)
    assert found["hostler_machines", (("fleet", "web"), ("phase", "ready"))] == 1
    assert found["hostler_machines", (("fleet", "web"), ("phase", "failed"))] == 0
    assert not any(("phase", "deleted") in labels for _, labels in found)


def test_what_happens_is_counted_under_its_labels() -> None:
    metrics = PrometheusMetrics(BootClock())
    metrics.count(Count.TRANSITIONS, WEB, "starting", "ready", "up")
    metrics.count(Count.CALLS, MAIN, "server.create", "refused_out_of_stock")
    metrics.count(Count.CALLS, MAIN, "server.create", "refused_out_of_stock")
    metrics.count(Count.GATE_REFUSALS, "G7")
    metrics.count(Count.OBSERVATIONS_FAILED, MAIN, "z", "host")
    metrics.count(Count.ALARMS, WEB, "host_taken")
    metrics.count(Count.ILLEGAL_MOVES)
    metrics.count(Count.BUGS, "turn")
    metrics.count(Count.UNKNOWN_STATUSES, MAIN, "melting")
    found = samples(metrics)
    moved = (("fleet", "web"), ("from", "starting"), ("reason", "up"), ("to", "ready"))
    called = (("call", "server.create"), ("outcome", "refused_out_of_stock"), ("provider", "main"))
    assert found["hostler_transitions_total", moved] == 1
    assert found["hostler_calls_total", called] == 2
    assert found["hostler_gate_refusals_total", (("check", "G7"),)] == 1
    assert found["hostler_alarms_total", (("fleet", "web"), ("reason", "host_taken"))] == 1
    unseen = (("kind", "host"), ("provider", "main"), ("zone", "z"))
    assert found["hostler_observations_failed_total", unseen] == 1
    assert found["hostler_illegal_moves_total", ()] == 1
    assert found["hostler_bugs_total", (("where", "turn"),)] == 1
    strange = (("provider", "main"), ("status", "melting"))
    assert found["hostler_unknown_statuses_total", strange] == 1


def test_the_age_of_the_observation_goes_on_growing() -> None:
    clock = BootClock()
    metrics = PrometheusMetrics(clock)
    measure_age(metrics, MAIN, timedelta(seconds=3))
    clock.at += 40
    assert samples(metrics)["hostler_observation_age_seconds", (("provider", "main"),)] == 43
    forget_account(metrics, MAIN)
    assert not any(name == "hostler_observation_age_seconds" for name, _ in samples(metrics))


def test_orphans_that_are_gone_count_nothing() -> None:
    metrics = PrometheusMetrics(BootClock())
    labels = (("class", "unrecorded"), ("fleet", "web"), ("zone", "z"))
    measure_orphans(metrics, (orphan("a", 0.5), orphan("b", 0.25)))
    found = samples(metrics)
    assert found["hostler_orphans", labels] == 2
    assert found["hostler_orphans_euros_per_hour", labels] == 0.75
    measure_orphans(metrics, ())
    assert ("hostler_orphans", labels) not in samples(metrics)


def test_stray_hosts_are_told_under_their_upstream_names_too() -> None:
    metrics = PrometheusMetrics(BootClock())
    measure_orphans(metrics, (replace(orphan("a", 0.5), kind="host"), orphan("b", 0.25)))
    count_taken_back(metrics, WEB)
    metrics.count(Count.RECLAIMED, WEB, "failed")
    found = samples(metrics)
    assert found["scaleway_orphan_servers", ()] == 1
    assert found["scaleway_orphan_servers_reclaimed_total", ()] == 1
    assert found["hostler_reclaimed_total", (("fleet", "web"), ("result", "failed"))] == 1


def test_hosts_of_a_state_that_none_is_in_count_nothing() -> None:
    metrics = PrometheusMetrics(BootClock())
    labels = (("provider", "main"), ("state", "free"), ("type", "M2-L"), ("zone", "z"))
    metrics.replace(Gauge.HOSTS, {("z", "M2-L", "free"): 3}, MAIN)
    assert samples(metrics)["hostler_hosts", labels] == 3
    metrics.replace(Gauge.HOSTS, {("z", "M2-L", "held"): 3}, MAIN)
    assert ("hostler_hosts", labels) not in samples(metrics)


def test_hosts_tell_until_when_they_are_paid_as_long_as_they_stand() -> None:
    metrics = PrometheusMetrics(BootClock())
    metric = "hostler_host_paid_until_timestamp_seconds"
    until = datetime(2026, 6, 12, 7, 6, 59, tzinfo=UTC).timestamp()
    metrics.replace(Gauge.PAID_UNTIL, {("z", "mac-1"): until, ("z", "mac-2"): until}, MAIN)
    of = (("host", "mac-1"), ("provider", "main"), ("zone", "z"))
    assert samples(metrics)[metric, of] == until
    metrics.replace(Gauge.PAID_UNTIL, {("z", "mac-2"): until}, MAIN)
    assert (metric, of) not in samples(metrics)


def test_the_longest_settling_is_kept() -> None:
    metrics = PrometheusMetrics(BootClock())
    for seconds in (2, 9, 4):
        metrics.gauge(Gauge.CONSISTENCY_DELAY, seconds, MAIN, "server.create")
    labels = (("call", "server.create"), ("provider", "main"))
    assert samples(metrics)["hostler_consistency_delay_seconds_max", labels] == 9


def test_two_registries_do_not_know_each_other() -> None:
    one, other = PrometheusMetrics(BootClock()), PrometheusMetrics(BootClock())
    one.count(Count.ILLEGAL_MOVES)
    assert samples(other)["hostler_illegal_moves_total", ()] == 0


def test_every_metric_keeps_the_conventions() -> None:
    for row in (*Count, *Gauge):
        assert row.value.name.startswith(("hostler_", "scaleway_orphan_servers"))
        assert row.value.name.endswith("_total") == isinstance(row, Count)
        assert row.value.help


def test_the_fake_refuses_too_few_labels_as_prometheus_does() -> None:
    for metrics in (PrometheusMetrics(BootClock()), CountingMetrics()):
        with pytest.raises(ValueError, match=r"labels|label count"):
            metrics.count(Count.CALLS, "main", "server.create")
        with pytest.raises(ValueError, match=r"labels|label count"):
            metrics.replace(Gauge.HOSTS, {("z",): 1}, "main")


@pytest.fixture
async def client() -> AsyncGenerator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession() as session:
        yield session


async def test_the_door_serves_metrics_and_health(client: aiohttp.ClientSession) -> None:
    metrics = PrometheusMetrics(BootClock())
    async with serving(ANY, metrics, (WEB,)) as at:
        base = f"http://127.0.0.1:{at.port}"
        async with client.get(f"{base}/healthz") as answer:
            assert answer.status == 200
        async with client.get(f"{base}/metrics") as answer:
            assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
            assert "hostler_illegal_moves_total 0.0" in await answer.text()
        async with client.get(f"{base}/") as answer:
            assert answer.status == 404


async def test_it_is_ready_after_the_first_cycle_of_every_fleet(
    client: aiohttp.ClientSession,
) -> None:
    metrics = PrometheusMetrics(BootClock())
    async with serving(ANY, metrics, (WEB,)) as at:
        url = f"http://127.0.0.1:{at.port}/readyz"
        async with client.get(url) as answer:
            assert answer.status == 503
            assert "no cycle of web" in await answer.text()
        measure_machines(metrics, WEB, ())
        async with client.get(url) as answer:
            assert answer.status == 200


async def test_a_taken_port_is_a_clear_error() -> None:
    metrics = PrometheusMetrics(BootClock())
    async with serving(ANY, metrics, ()) as at:
        with pytest.raises(ConfigError, match=f"cannot listen on 127.0.0.1:{at.port}"):
            async with serving(at, metrics, ()):
                pytest.fail("two servers on one port")


def test_the_reference_lists_every_metric_with_its_labels() -> None:
    page = (Path(__file__).parents[2] / "docs" / "reference" / "metrics.md").read_text()
    for row in (*Count, *Gauge):
        metric, kind = row.value, "counter" if isinstance(row, Count) else "gauge"
        labels = ", ".join(f"`{label}`" for label in metric.labels) or "-"
        assert f"| `{metric.name}` | {kind} | {labels} | {metric.help} |" in page
