"""What all tests share: how hypothesis looks for counter-examples, clean logs, the Go hosts."""

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog
from hypothesis import HealthCheck, settings

from hostler.testing.peers.go_hosts import GoHosts

settings.register_profile(
    "hostler",
    deadline=None,
    print_blob=True,
    derandomize=True,
    max_examples=100,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("hostler")

# looptime asks for the current loop in every test; where there is none it would make one that
# nobody closes, and its warning would fail whatever test runs next.
asyncio.set_event_loop(None)


def pytest_collection_modifyitems(items: list[pytest.Item], config: pytest.Config) -> None:
    """Let simulated time go on as soon as nothing is left to do, and limits be longer if asked.

    looptime turns the loop 42 times first, for sockets. There are none in these tests, and turns
    of the loop were most of their time. tools/test.py asks for patience with what it runs at the
    lowest priority: limits are for what hangs.
    """
    patience = float(os.environ.get("HOSTLER_TEST_PATIENCE", "1"))
    for item in items:
        if item.get_closest_marker("looptime") is not None:
            item.add_marker(pytest.mark.looptime(noop_cycles=0))
        if patience != 1:
            own = item.get_closest_marker("timeout")
            limit = own.args[0] if own is not None else float(config.getini("timeout"))
            item.add_marker(pytest.mark.timeout(limit * patience), append=False)


@pytest.fixture(autouse=True)
def _logs_of_its_own() -> Iterator[None]:
    """What one test does to the logs (a captured stream, a level) is not there for the next."""
    yield
    structlog.reset_defaults()


@pytest.fixture(scope="session")
def go_hosts() -> GoHosts:
    """The go-plugin hosts of tests/hosts; the first to ask waits until they are built."""
    root = Path(__file__).parent
    return GoHosts(root / "hosts", root.parent / ".cache" / "hosts")
