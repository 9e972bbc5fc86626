"""Engines are quiet here: what they log belongs to whoever debugs one."""

import pytest
import structlog


@pytest.fixture(autouse=True)
def _quiet() -> None:
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(50))
