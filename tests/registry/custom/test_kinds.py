"""From a definition to resource types (reference CRD-2, CRD-3, CRD-20)."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from orchtw.naming.naming import Naming
from orchtw.registry.custom.kinds import kinds_of
from orchtw.schema.catalogue import Catalogue, ResourceType, ScalePaths
from orchtw.schema.schemas import Schemas
from orchtw.wire.objects import Object
from tests.registry.custom.definitions import GROUP, definition, version

SCHEMAS = Schemas(Catalogue.load(Naming.orch()))


def resources(*versions: Object, **spec: object) -> dict[str, ResourceType]:
    """The resource types of lamps by version."""
    return {each.version: each for each, _ in kinds_of(definition(*versions, **spec), SCHEMAS)}


class KindTests(SynchronousTestCase):
    def test_versions(self) -> None:
        """Every version is known, the served ones are on, and the most mature of these is preferred (CRD-3)."""
        found = resources(
            version("v1", served=False), version("v1beta1", storage=False), version("v1beta2", storage=False)
        )
        self.assertEqual([each.default_on for each in found.values()], [False, True, True])
        self.assertEqual([each.preferred for each in found.values()], [False, False, True])
        self.assertEqual({each.storage_version for each in found.values()}, {"v1"})

    def test_subresources(self) -> None:
        """Sub-resources are those of the version, Scale with its paths (reference CRD-23)."""
        found = resources(version(), version("v2", storage=False, subresources=None))
        self.assertEqual([each.name for each in found["v1"].subresources], ["status", "scale"])
        self.assertEqual(found["v2"].subresources, ())
        scale = found["v1"].subresources[1]
        paths = ScalePaths(replicas=".spec.replicas", status_replicas=".status.replicas", selector=".status.selector")
        self.assertEqual((scale.kind, scale.group, scale.scale), ("Scale", "autoscaling", paths))

    def test_columns(self) -> None:
        """Columns are those of the version; one without a description shows its path (reference CRD-60)."""
        columns = [
            {"name": "A", "type": "string", "jsonPath": ".a"},
            {"name": "B", "type": "date", "jsonPath": ".b", "description": "When.", "priority": 1},
        ]
        first, second = resources(version(additionalPrinterColumns=columns))["v1"].columns
        self.assertEqual(first.cell, "Custom resource definition column (in JSONPath format): .a")
        self.assertEqual((second.cell, second.priority, second.path), ("When.", 1, ".b"))

    def test_warnings(self) -> None:
        """A deprecated version names the newest that is not, if it is newer, or warns as it likes (CRD-20)."""
        found = resources(
            version("v2", deprecated=True),
            version("v1", storage=False),
            version("v1beta1", storage=False, deprecated=True),
            version("v1alpha1", storage=False, deprecated=True, deprecationWarning="Stop."),
            version("v1alpha2", storage=False, served=False),
        )
        self.assertEqual(
            {name: each.warning for name, each in found.items()},
            {
                "v2": f"{GROUP}/v2 Lamp is deprecated",
                "v1": "",
                "v1beta1": f"{GROUP}/v1beta1 Lamp is deprecated; use {GROUP}/v1 Lamp",
                "v1alpha1": "Stop.",
                "v1alpha2": "",
            },
        )
