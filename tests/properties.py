"""Settings of property tests: the same examples on every run and every machine, and no clock that decides."""

from __future__ import annotations

from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers
from hypothesis.internal.constants_ast import Constants

# Some values would be constants of the modules that happen to be loaded, after a search through all of them.
providers._get_local_constants = Constants


def examples(count: int) -> settings:
    """Decorates a property: `count` examples, which follow from the test's name alone.

    A busy machine makes an example or its drawing slow, which is not what is tested: no deadlines. Nothing is kept
    between runs either, so that workers side by side share no file.
    """
    return settings(
        max_examples=count,
        derandomize=True,
        deadline=None,
        database=None,
        suppress_health_check=[HealthCheck.too_slow],
    )
