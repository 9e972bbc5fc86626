"""What is said where a provider could not be observed at all."""

from datetime import UTC, datetime

import pytest

from hostler.domain.errors import ProviderError
from hostler.domain.ids import Zone
from hostler.domain.model.inventory import Inventory
from hostler.domain.model.resource import ObservedScope, Scope
from hostler.queries.providers import require_observed

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


def unobserved(*errors: tuple[str, str, str]) -> Inventory:
    """Return an inventory in which these kinds in these zones failed with these errors."""
    failed = {
        (Zone(zone), kind): ObservedScope(
            scope=Scope(Zone(zone), kind), begun=NOW, complete=False, error=error
        )
        for zone, kind, error in errors
    }
    return Inventory(failed=failed)


def test_an_error_that_all_zones_share_is_said_once() -> None:
    down, late = "nothing listens", "no answer in time"
    inventory = unobserved(
        ("z-2", "server", down), ("z-1", "server", down), ("z-1", "ip", down), ("z-2", "ip", late)
    )
    with pytest.raises(ProviderError) as raised:
        require_observed(inventory)
    expected = f"the provider could not be observed: z-1, z-2: {down}; z-2: {late}"
    assert str(raised.value) == expected
