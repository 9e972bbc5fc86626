"""What all tests share: how hypothesis looks for counter-examples."""

import asyncio

from hypothesis import HealthCheck, settings

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
