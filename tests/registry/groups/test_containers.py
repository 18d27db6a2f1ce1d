"""What examples of the API do not show of the rules of containers."""

from __future__ import annotations

from time import process_time
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from orchtw.errors import MAX_CAUSES
from orchtw.naming import Naming
from orchtw.objects import Object
from orchtw.registry.checks import checks
from orchtw.registry.groups.core.container_security import check_windows_options
from orchtw.schema.catalogue import Catalogue
from orchtw.schema.codec.codecs import Codecs

NAMING = Naming.orch()
CATALOGUE = Catalogue.load(NAMING)
CODECS = Codecs(CATALOGUE, checks(NAMING))
MANY = 20_000


class ContainerTests(SynchronousTestCase):
    def causes(self, codecs: Codecs = CODECS, **spec: Any) -> list[str]:
        """What is wrong with a pod: fields and reasons."""
        codec = codecs.kind("v1", "Pod")
        pod: Object = codec.normalise({"metadata": {"name": "a"}, "spec": spec})
        codec.set_defaults(pod)
        assert codec.validator is not None
        return [f"{each.field} {each.reason}" for each in codec.validator(pod, None)]

    def test_long_credentials(self) -> None:
        """Credentials of windows have 64 KiB at most."""
        self.assertEqual(check_windows_options({"gmsaCredentialSpec": "a" * 65536}, None), [])
        (cause,) = check_windows_options({"gmsaCredentialSpec": "a" * 65537}, None)
        self.assertIn("gmsaCredentialSpec size must be under 64 KiB", cause.message)

    def test_privileges(self) -> None:
        """--allow-privileged permits all rights on the node, and mounts that others see (reference KIND-32)."""
        container = {
            "name": "a",
            "image": "i",
            "imagePullPolicy": "Always",
            "securityContext": {"privileged": True},
            "volumeMounts": [{"name": "v", "mountPath": "/a", "mountPropagation": "Bidirectional"}],
        }
        spec = {"containers": [container], "volumes": [{"name": "v", "emptyDir": {}}]}
        self.assertEqual(self.causes(**spec), [])
        strict = Codecs(CATALOGUE, checks(NAMING, allow_privileged=False))
        field = "spec.containers[0].securityContext.privileged FieldValueForbidden"
        self.assertEqual(self.causes(strict, **spec), [field])

    def test_host_processes(self) -> None:
        """The same for processes of windows nodes."""
        spec = {
            "containers": [{"name": "a", "image": "i", "imagePullPolicy": "Always"}],
            "hostNetwork": True,
            "securityContext": {"windowsOptions": {"hostProcess": True}},
        }
        self.assertEqual(self.causes(**spec), [])
        strict = Codecs(CATALOGUE, checks(NAMING, allow_privileged=False))
        self.assertEqual(self.causes(strict, **spec), ["spec FieldValueForbidden"])

    def test_much_that_is_wrong(self) -> None:
        """However much is wrong, a look takes time in proportion, and few more causes come than are shown."""
        wrong: dict[str, list[Any]] = {
            "ports": [{"containerPort": 1, "hostPort": 1}] * MANY,
            "env": [{"name": ""}] * MANY,
            "envFrom": [{}] * MANY,
            "volumeMounts": [{"name": "v", "mountPath": "/a"}] * MANY,
            "volumeDevices": [{"name": "v", "devicePath": "/a"}] * MANY,
        }
        started = process_time()
        for key, value in wrong.items():
            found = self.causes(containers=[{"name": "a", "image": "i", "imagePullPolicy": "Always", key: value}])
            self.assertTrue(MAX_CAUSES < len(found) < 5 * MAX_CAUSES, f"{key}: {len(found)}")
        for key in ("containers", "initContainers", "ephemeralContainers"):
            found = self.causes(**{"containers": [{}], key: [{"targetContainerName": "b"}] * (MANY // 10)})
            self.assertTrue(MAX_CAUSES < len(found) < 20 * MAX_CAUSES, f"{key}: {len(found)}")
        self.assertLess(process_time() - started, 5)
