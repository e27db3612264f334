"""Settings for all tests."""

from hypothesis import HealthCheck, settings

# CI and laptops differ in speed: no example fails for being slow. Runs are the same every time.
settings.register_profile(
    "default", deadline=None, derandomize=True, max_examples=100, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("default")
