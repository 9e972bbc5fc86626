"""What all tests share: how hypothesis looks for counter-examples."""

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
