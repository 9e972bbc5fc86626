"""Waiting for what a real process is to bring about."""

import time
from collections.abc import Callable

import pytest


def wait_until(
    holds: Callable[[], object], seconds: float = 120, otherwise: object = "it did not come to pass"
) -> None:
    """Wait until something holds; fail with `otherwise`, or what it returns, if it never does."""
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            why = otherwise() if callable(otherwise) else otherwise
            pytest.fail(f"{why}: not within {seconds} s")
        time.sleep(0.1)
