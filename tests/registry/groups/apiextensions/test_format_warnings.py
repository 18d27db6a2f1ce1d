"""Warnings about formats that are not validated (reference CRD-75)."""

from __future__ import annotations

from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from orchtw.config.releases import Release
from orchtw.naming.naming import Naming
from orchtw.registry.groups.apiextensions.format_warnings import SINCE, format_warnings
from orchtw.wire.objects import Object
from tests.registry.custom.definitions import definition, version


def formatted(*names: str, kind: str = "string") -> Object:
    """A definition with a member of each format."""
    members = {f"f{place}": {"type": kind, "format": name} for place, name in enumerate(names)}
    return definition(version(schema={"openAPIV3Schema": {"type": "object", "properties": members}}))


class FormatWarningTests(SynchronousTestCase):
    def warned(self, new: Object, old: Object | None = None, release: Release = SINCE) -> list[str]:
        """The formats that the warnings name."""
        texts = format_warnings(new, old, Naming.orch(), release)
        return [text.removeprefix('unrecognized format "').removesuffix('"') for text in texts]

    def test_create(self) -> None:
        """Each unknown format of a string is named once."""
        found = self.warned(formatted("date-time", "x", "y", "x", "k8s-short-name", "k8slongname"))
        self.assertEqual(found, ["x", "y"])
        self.assertEqual(self.warned(formatted("int32", "x", kind="integer")), [])

    def test_places(self) -> None:
        """Formats are found in elements, values of maps and conditions, in each version."""
        parts: list[dict[str, Any]] = [
            {"type": "array", "items": {"type": "string", "format": "a"}},
            {"type": "object", "additionalProperties": {"type": "string", "format": "b"}},
            {"anyOf": [{"type": "string", "format": "c"}]},
        ]
        versions = (version(f"v{place}", schema={"openAPIV3Schema": each}) for place, each in enumerate(parts))
        made = definition(*versions)
        self.assertEqual(self.warned(made), ["a", "b", "c"])

    def test_update(self) -> None:
        """An update is warned about formats that the old definition does not have."""
        self.assertEqual(self.warned(formatted("x", "y"), formatted("y", "z")), ["x"])

    def test_releases(self) -> None:
        """Earlier releases do not warn."""
        self.assertEqual(self.warned(formatted("x"), release=(1, 33)), [])
