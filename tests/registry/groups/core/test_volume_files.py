"""Files of volumes that the node writes (reference KIND-35)."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from orchtw.registry.groups.core.volume_files import check_pod_values, check_projected, check_projection


class VolumeFileTests(SynchronousTestCase):
    """Causes that reject files of pod values and of projections."""

    def test_pod_values(self) -> None:
        """Each file has a path, and one source."""
        name = {"fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.name"}}
        self.assertEqual(check_pod_values({"items": [{"path": "a", **name}]}, None), [])
        self.assertEqual([cause.field for cause in check_pod_values({"items": [name]}, None)], ["path"])
        both = {"path": "a", **name, "resourceFieldRef": {"resource": "limits.cpu", "containerName": "c"}}
        self.assertEqual([cause.field for cause in check_pod_values({"items": [both]}, None)], [""])
        self.assertEqual([cause.field for cause in check_pod_values({"items": [{"path": "a"}]}, None)], [""])

    def test_projections(self) -> None:
        """A projection has one source, and no two files of a volume the same path."""
        secret = {"secret": {"name": "s", "items": [{"key": "a", "path": "p"}]}}
        self.assertEqual(check_projection(secret, None), [])
        self.assertEqual(len(check_projection({**secret, "configMap": {"name": "m"}}, None)), 1)
        found = check_projected({"sources": [secret, secret]}, None)
        self.assertEqual(["conflicting duplicate paths" in str(cause) for cause in found], [True])
