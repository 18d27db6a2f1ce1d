"""Additions since release 1.24 in an emulated release (reference KIND-90)."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from orchtw.naming.naming import Naming
from orchtw.schema.additions import EVERY, RELEASE_1_24, Additions
from orchtw.schema.catalogue import Catalogue
from orchtw.schema.codec.codecs import Codecs


class AdditionsTests(SynchronousTestCase):
    def test_later_releases_are_unknown(self) -> None:
        """Additions up to the emulated release are known, later ones are not (reference KIND-90)."""
        of_1_28 = Additions((1, 28))
        known = [of_1_28.includes(since) for since in ("", "1.9", "1.28", "1.29")]
        self.assertEqual(known, [True, True, True, False])
        self.assertTrue(EVERY.includes("1.36"))
        self.assertFalse(RELEASE_1_24.includes("1.25"))

    def test_a_gate_that_was_switched_off_leaves_no_trace(self) -> None:
        """A gate that is on by default and switched off hides its fields; each of several gates counts."""
        found = Additions.of((1, 36), {"A": False, "B": True}, {"A": True, "B": True})
        self.assertFalse(found.includes("1.30", "A"))
        self.assertFalse(found.includes("1.30", "B,A"))
        self.assertTrue(found.includes("1.30", "B"))
        self.assertTrue(found.includes("1.24", "A"))
        self.assertTrue(found.drops("1.24", "A"))

    def test_a_gate_that_is_off_by_default_drops(self) -> None:
        """Fields of a gate that is off by default are known, but dropped from what is written (reference KIND-91)."""
        found = Additions.of((1, 36), {"A": False}, {"A": False})
        self.assertTrue(found.includes("1.30", "A"))
        self.assertTrue(found.drops("1.30", "A"))
        self.assertFalse(found.drops("", "A"))

    def test_fields_follow_the_release(self) -> None:
        """A pod has scheduling gates since 1.26, and sidecars since 1.28 (reference KIND-90)."""
        for minor, gates, sidecars in ((25, False, False), (26, True, False), (28, True, True)):
            codecs = Codecs(Catalogue.load(Naming.orch(), Additions((1, minor))))
            core = "orch.io.api.core.v1"
            spec, container = (codecs.schemas.struct(f"{core}.{name}").keys for name in ("PodSpec", "Container"))
            self.assertEqual(("schedulingGates" in spec, "restartPolicy" in container), (gates, sidecars))

    def test_sub_resources_follow_the_release(self) -> None:
        """Pods have a sub-resource for resizes since 1.32 (reference KIND-90, KIND-99)."""
        for minor, expected in ((31, False), (32, True)):
            catalogue = Catalogue.load(Naming.orch(), Additions((1, minor)))
            pods = next(each for each in catalogue.resources if each.plural == "pods")
            self.assertEqual("resize" in {each.name for each in pods.subresources}, expected, minor)

    def test_values_follow_the_gate(self) -> None:
        """Values of a gate that is off by default are unknown, since nothing could drop them (reference KIND-90)."""
        gate = "TaintTolerationComparisonOperators"
        for on, count in ((False, 2), (True, 4)):
            additions = Additions.of((1, 36), {gate: on}, {gate: False})
            schemas = Codecs(Catalogue.load(Naming.orch(), additions)).schemas
            enum = schemas.struct("orch.io.api.core.v1.Toleration").keys["operator"].enum
            self.assertEqual(len(enum.values if enum else ()), count)

    def test_groups_follow_the_release(self) -> None:
        """A group exists with its first kind, and later versions leave the preferred one as it is (reference KIND-90,
        FLOW-15).
        """
        found = {minor: Catalogue.load(Naming.orch(), Additions((1, minor))) for minor in (24, 26, 29, 34)}
        names = {minor: {group.name for group in each.groups} for minor, each in found.items()}
        self.assertNotIn("resource.orch.io", names[29])
        self.assertIn("resource.orch.io", names[34])
        flow = {
            minor: next(group for group in each.groups if group.name == "flowcontrol.apiserver.orch.io").preferred
            for minor, each in found.items()
        }
        self.assertEqual(flow, dict.fromkeys(found, "v1beta2"))
