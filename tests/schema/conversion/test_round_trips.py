"""Objects survive the way through any served version of their kind (reference VER-11)."""

from __future__ import annotations

from itertools import permutations
from random import Random

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from orchtw.naming.naming import Naming
from orchtw.registry.strategies import strategy_for
from orchtw.registry.strategy import Strategy
from orchtw.schema.catalogue import Catalogue
from orchtw.schema.codec.codecs import Codecs
from orchtw.wire.objects import Object
from tests.properties import examples
from tests.schema.arbitrary import Arbitrary

NAMING = Naming.orch()
CATALOGUE = Catalogue.load(NAMING)
CODECS = Codecs(CATALOGUE)
SEEDS = st.integers(min_value=0, max_value=2**32)

Version = tuple[str, str]
"""apiVersion and kind."""


Place = tuple[str, str]
"""Group and plural under which objects are stored."""


def versions() -> dict[Place, list[Version]]:
    """Of each stored kind that is served in several versions, those."""
    found: dict[Place, list[Version]] = {}
    for each in CATALOGUE.resources:
        if each.storage_version:
            found.setdefault((each.storage_group or "", each.plural), []).append((each.api_version, each.kind))
    return {place: each for place, each in found.items() if len(each) > 1}


def strategies() -> dict[Version, Strategy]:
    """Return the registry of defaults and conversions."""
    found: dict[Version, Strategy] = {}
    for each in CATALOGUE.resources:
        if each.storage_version:
            home = CATALOGUE.find(each.storage_group or "", each.storage_version, each.plural) or each
            codec = CODECS.kind(home.api_version, home.kind)
            found[each.api_version, each.kind] = strategy_for(home, NAMING, codec)
    return found


SEVERAL = versions()
STRATEGIES = strategies()


def told(obj: Object) -> Object:
    """An object without what an autoscaler's older forms cannot leave out: an average value of 0 in its status."""
    for metric in (obj.get("status") or {}).get("currentMetrics") or ():
        for part in ("resource", "containerResource"):
            current = (metric.get(part) or {}).get("current") or {}
            if "averageUtilization" in current and current.get("averageValue") == "0":
                del current["averageValue"]
    return obj


class RoundTripTests(SynchronousTestCase):
    def test_which(self) -> None:
        """The kinds in several versions."""
        self.assertEqual(
            {several[0][1] for several in SEVERAL.values()},
            {"CronJob", "CSIStorageCapacity", "EndpointSlice", "Event", "FlowSchema", "HorizontalPodAutoscaler"}
            | {"PodDisruptionBudget", "PriorityLevelConfiguration", "RuntimeClass"}
            | {"DeviceClass", "ResourceClaim", "ResourceClaimTemplate", "ResourceSlice"}
            | {"MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding"}
            | {"ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"}
            | {"IPAddress", "ServiceCIDR", "VolumeAttributesClass"}
            | {"ClusterTrustBundle", "DeviceTaintRule", "LeaseCandidate"},
        )

    @given(seed=SEEDS)
    @examples(150)
    def test_nothing_is_lost(self, seed: int) -> None:
        """A round trip through any other version keeps an object."""
        for several in SEVERAL.values():
            for first, second in permutations(several, 2):
                there = self.converted(self.any_object(first, seed), second)
                back = self.converted(there, first)
                self.assertEqual(told(self.converted(back, second)), told(there), f"{first} {second}")

    @given(seed=SEEDS)
    @examples(60)
    def test_same_fields(self, seed: int) -> None:
        """Versions with the same fields become each other without any change."""
        for several in SEVERAL.values():
            if STRATEGIES[several[0]].traits.conversions.same_fields:
                for first, second in permutations(several, 2):
                    obj = self.any_object(first, seed)
                    self.assertEqual(self.converted(self.converted(obj, second), first), obj)

    def any_object(self, version: Version, seed: int) -> Object:
        """An object of a kind in a version, with its defaults."""
        codec = CODECS.kind(*version)
        drawn = Arbitrary(Random(seed)).struct(codec.schema)
        obj = codec.normalise({**drawn, "metadata": {**(drawn.get("metadata") or {}), "name": "x"}})
        codec.set_defaults(obj)
        STRATEGIES[version].set_defaults(obj)
        return obj

    def converted(self, obj: Object, version: Version) -> Object:
        """The object in another version; it is canonical as it comes."""
        conversions = STRATEGIES[version].traits.conversions
        found = conversions.converter(obj["apiVersion"], version[0], naming=NAMING)(obj)
        codec = CODECS.kind(*version)
        self.assertEqual(codec.normalise(found), found)
        return found
