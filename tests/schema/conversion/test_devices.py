"""Devices and their requests between v1 and v1beta1 (reference KIND-94)."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from orchtw.naming.naming import Naming
from orchtw.schema.conversion.devices import (
    claim_from_v1,
    claim_to_v1,
    slice_from_v1,
    slice_to_v1,
    template_from_v1,
    template_to_v1,
)
from tests.properties import examples

NAMING = Naming.orch()
EXACT = st.fixed_dictionaries(
    {"deviceClassName": st.sampled_from(["gpu", "nic"])},
    optional={"count": st.integers(1, 3), "adminAccess": st.booleans(), "allocationMode": st.just("ExactCount")},
)
CHOICES = st.fixed_dictionaries({"firstAvailable": st.just([{"name": "x", "deviceClassName": "gpu"}])})
REQUESTS = st.lists(EXACT.map(lambda fields: {"name": "a", "exactly": fields}) | CHOICES, max_size=3)


def claim(*requests: Any) -> dict[str, Any]:
    """A claim with these requests."""
    return {"spec": {"devices": {"requests": list(requests)}}}


class DeviceConversionTests(SynchronousTestCase):
    """Fields that change their place."""

    def test_requests(self) -> None:
        """The fields of a request for one alternative are in `exactly` of v1, and in the request of v1beta1."""
        newer = claim({"name": "a", "exactly": {"deviceClassName": "gpu", "count": 2}})
        older = claim({"name": "a", "deviceClassName": "gpu", "count": 2})
        self.assertEqual(claim_from_v1(newer, NAMING), older)
        self.assertEqual(claim_to_v1(older, NAMING), newer)

    def test_templates(self) -> None:
        """The claims that a template makes are converted likewise."""
        newer = {"spec": claim({"name": "a", "exactly": {"deviceClassName": "gpu"}})}
        self.assertEqual(template_to_v1(template_from_v1(newer, NAMING), NAMING), newer)

    def test_slices(self) -> None:
        """A device's fields are its own in v1, and in `basic` of v1beta1."""
        newer = {"spec": {"nodeName": "", "devices": [{"name": "d", "attributes": {"x": {"int": 1}}}]}}
        older = {"spec": {"devices": [{"name": "d", "basic": {"attributes": {"x": {"int": 1}}}}]}}
        self.assertEqual(slice_from_v1(newer, NAMING), older)
        self.assertEqual(slice_to_v1(older, NAMING)["spec"]["devices"], newer["spec"]["devices"])

    def test_nothing(self) -> None:
        """Objects without devices stay as they are."""
        self.assertEqual(claim_to_v1({"spec": {}}, NAMING), {"spec": {}})

    @examples(100)
    @given(REQUESTS)
    def test_round_trip(self, requests: list[dict[str, Any]]) -> None:
        """No request loses anything on its way through v1beta1."""
        newer = claim(*({"name": f"r{number}", **each} for number, each in enumerate(requests)))
        self.assertEqual(claim_to_v1(claim_from_v1(newer, NAMING), NAMING), newer)
