"""Rules of containers beyond the API examples."""

from __future__ import annotations

from random import Random
from time import process_time
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from orchtw.errors import MAX_CAUSES
from orchtw.naming.naming import Naming
from orchtw.registry.checks import checks
from orchtw.registry.groups.core.security_context import check_windows_options
from orchtw.schema.catalogue import Catalogue
from orchtw.schema.codec.codecs import Codecs
from orchtw.wire.objects import Object
from tests.schema.arbitrary import Arbitrary

NAMING = Naming.orch()
CATALOGUE = Catalogue.load(NAMING)
CODECS = Codecs(CATALOGUE, checks(NAMING))
MANY = 20_000
WORDS = (
    *("", "a", "a", "..", "/a", "a\\b", "\x00", "é" * 300, "v1", "metadata.labels['a']", "['a']", "limits.cpu"),
    *("cpu", "memory", "hugepages-2Mi", "hugepages-", "hugepages-1e99999999", "example.com/gpu", "Localhost"),
)
ROUNDS = 150


class ContainerTests(SynchronousTestCase):
    def causes(self, codecs: Codecs = CODECS, /, **spec: Any) -> list[str]:
        """Return the causes for a pod: fields and reasons."""
        codec = codecs.kind("v1", "Pod")
        pod: Object = codec.normalise({"metadata": {"name": "a"}, "spec": spec})
        codec.set_defaults(pod)
        return [f"{each.field} {each.reason}" for each in codec.check(pod, None)]

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

    def test_own_resources(self) -> None:
        """Names under the product's domain, in either vocabulary, are not extended resources."""
        for naming in (NAMING, Naming.kubernetes()):
            codecs = Codecs(Catalogue.load(naming), checks(naming))
            resources = {"requests": {f"{naming.label_domain}/own": "500m"}}
            container = {"name": "a", "image": "i", "imagePullPolicy": "Always", "resources": resources}
            self.assertEqual(self.causes(codecs, containers=[container]), [])
            container["resources"] = {"requests": {f"{naming.counterpart.label_domain}/other": "500m"}}
            expected = {"spec.containers[0].resources.limits FieldValueRequired"}
            self.assertLess(expected, set(self.causes(codecs, containers=[container])))

    def test_stored_huge_pages(self) -> None:
        """A pod with a part of a huge page that is stored already stays as it is."""
        codec = CODECS.kind("v1", "Pod")
        limits = {"cpu": "1", "hugepages-2Mi": "3Mi"}
        container = {"name": "a", "image": "i", "imagePullPolicy": "Always", "resources": {"limits": limits}}
        pod = codec.normalise({"metadata": {"name": "a"}, "spec": {"containers": [container]}})
        codec.set_defaults(pod)
        pod["spec"]["containers"][0]["resources"]["requests"] = limits
        found = [each.field for each in codec.check(pod, None)]
        place = "spec.containers[0].resources"
        self.assertEqual(found, [f"{place}.{key}[hugepages-2Mi]" for key in ("limits", "requests")])
        self.assertEqual(codec.check(pod, pod), [])

    def test_odd_values(self) -> None:
        """Whatever is canonical can be looked at."""
        codec = CODECS.kind("v1", "Pod")
        for seed in range(ROUNDS):
            values = Arbitrary(Random(seed), WORDS)
            pods = [codec.normalise(values.struct(codec.schema)) for _ in range(2)]
            for old in (None, pods[1]):
                try:
                    codec.check(pods[0], old)
                except Exception as error:
                    raise AssertionError(f"seed {seed}: {error!r}") from error

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
