"""The protocol's tests once more, with every request on a short line that can have one."""

from __future__ import annotations

from types import ModuleType
from typing import Any, Final
from unittest import TestCase

from tests.filters.plan_case import PlanCase
from tests.filters.plans_compared import lead
from tests.filters.test_short_lines import DRY
from tests.verbs import (
    test_admission,
    test_admission_of_subresources,
    test_apply,
    test_binding,
    test_checks_after_admission,
    test_custom_resources,
    test_eviction,
    test_odd_requests,
    test_rbac_objects,
    test_refusals,
    test_resource_versions,
    test_scale,
    test_token_request,
    test_writes,
)

MODULES: Final[tuple[ModuleType, ...]] = (
    test_admission, test_admission_of_subresources, test_apply, test_binding, test_checks_after_admission,
    test_custom_resources, test_eviction, test_odd_requests,
    test_rbac_objects, test_refusals, test_resource_versions, test_scale, test_token_request,
    test_writes,
)  # fmt: skip


class Led:
    """Mixin that leads requests by short lines, the first of their kind too."""

    def setUp(self) -> Any:
        self.counts = lead(self)
        return super().setUp()  # type: ignore[misc]


class LedTests(Led, PlanCase):
    """Requests of a server whose requests are all led."""

    def test_first(self) -> None:
        """The first request of each kind is led, and answered as it would be otherwise."""
        before = self.counts["led"]
        for method, url, body, content_type in DRY:
            self.done(method, url, body, {"content-type": content_type})
        self.assertEqual(self.counts["led"], before + len(DRY))


def _add(module: ModuleType) -> None:
    """Add the module's test cases to this module, each with the mixin."""
    topic = module.__name__.rpartition("test_")[2].title().replace("_", "")
    for name, case in list(vars(module).items()):
        if isinstance(case, type) and issubclass(case, TestCase) and case.__module__ == module.__name__:
            if any(each.startswith("test") for each in dir(case)):
                led = f"{topic}{name}"
                about = {"__doc__": f"Led requests: {case.__doc__}", "__module__": __name__}
                globals()[led] = type(led, (Led, case), about)


for _module in MODULES:
    _add(_module)
