"""PodSecurity with a configuration, in a whole server (reference PLUG-38)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import orjson

from orchtw.errors import ConfigError
from orchtw.wire.objects import Object
from tests.admission.plugins.pod_security.served_case import PodSecurityCase


class ConfiguredCase(PodSecurityCase):
    """A server with a configuration of the plugin."""

    configuration: ClassVar[Object] = {}

    def setUp(self) -> None:
        file = Path(self.mktemp())
        kind = {"apiVersion": "pod-security.admission.config.orch.io/v1beta1", "kind": "PodSecurityConfiguration"}
        plugin = {"name": "PodSecurity", "configuration": {**kind, **self.configuration}}
        head = {"apiVersion": "apiserver.config.orch.io/v1", "kind": "AdmissionConfiguration"}
        file.write_bytes(orjson.dumps({**head, "plugins": [plugin]}))
        self.patch(type(self), "more", {**self.more, "admission_control_config_file": file})
        super().setUp()


class ConfiguredTests(ConfiguredCase):
    """Configured defaults and exemptions."""

    configuration: ClassVar[Object] = {
        "defaults": {"enforce": "baseline", "enforce-version": "v1.20", "warn": "restricted"},
        "exemptions": {"usernames": ["robot"], "namespaces": ["free"], "runtimeClasses": ["sandbox"]},
    }

    def test_defaults(self) -> None:
        """Configured defaults hold in namespaces without labels."""
        self.namespace("n")
        answer = self.send("POST", self.pods("n"), self.bad_pod())
        self.assertEqual(answer.code, 403)
        self.assertIn('violates PodSecurity "baseline:v1.20"', answer.json["message"])
        self.namespace("loose", enforce="privileged")
        answer = self.send("POST", self.pods("loose"), self.bad_pod())
        self.assertEqual(answer.code, 201)
        self.assertIn('would violate PodSecurity "restricted:latest": ', self.warnings(answer)[0])

    def test_exempt_namespace(self) -> None:
        """In such a namespace nothing holds, and its pods are not looked at."""
        self.namespace("free")
        self.done("POST", self.pods("free"), self.bad_pod())
        self.assertEqual(self.annotations(), {"exempt": "namespace"})
        answer = self.label("free", enforce="restricted")
        self.assertEqual((answer.code, self.warnings(answer)), (200, []))

    def test_exempt_user(self) -> None:
        """For such a user nothing holds."""
        self.namespace("n")
        robot = {"impersonate-user": "robot", "impersonate-group": "system:masters"}
        answer = self.send("POST", self.pods("n"), self.bad_pod(), robot)
        self.assertEqual((answer.code, self.warnings(answer)), (201, []))

    def test_exempt_class(self) -> None:
        """For pods of such a class nothing holds, be they there already."""
        self.namespace("n")
        sandbox = self.bad_pod(runtimeClassName="sandbox")
        self.done("POST", "/apis/node.orch.io/v1/runtimeclasses", {"metadata": {"name": "sandbox"}, "handler": "h"})
        self.done("POST", self.pods("n"), sandbox)
        self.assertEqual(self.annotations(), {"exempt": "runtimeClass"})
        metrics = self.send("GET", "/metrics").body.decode()
        labels = 'request_operation="create",resource="pod",subresource=""'
        self.assertIn(f"pod_security_exemptions_total{{{labels}}} 1", metrics)
        self.assertEqual(self.warnings(self.label("n", enforce="restricted")), [])


class WrongConfigurationTests(ConfiguredCase):
    """A wrong configuration ends the start."""

    configuration: ClassVar[Object] = {"defaults": {"enforce": "x"}}

    def setUp(self) -> None:
        error = self.assertRaises(ConfigError, super().setUp)
        self.problems = error.problems

    def test_start(self) -> None:
        """The line names the field."""
        (problem,) = self.problems
        self.assertIn('configuration.defaults.enforce: Invalid value: "x": must be one of', problem)


class GateTests(PodSecurityCase):
    """The plugin's feature gate."""

    more: ClassVar[Mapping[str, Any]] = {**PodSecurityCase.more, "feature_gates": (("PodSecurity", "false"),)}

    def test_off(self) -> None:
        """Without the feature nothing is looked at."""
        self.namespace("n", enforce="restricted")
        self.done("POST", self.pods("n"), self.bad_pod())
        self.namespace("m", enforce="x")
