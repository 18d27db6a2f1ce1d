"""Resources that a configuration limits: none of them without a quota (reference PLUG-31)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from orchtw.admission.configuration import Given
from orchtw.admission.plugins.resource_quota.configuration import read
from orchtw.errors import ConfigError
from orchtw.naming.naming import Naming
from orchtw.quota.quotas import Limited
from orchtw.quota.scopes import Requirement
from tests.admission.plugins.resource_quota.case import (
    CLAIMS,
    LIMITED,
    PODS,
    QuotaCase,
    claim,
    pod,
)


class LimitedTests(QuotaCase):
    """Resources that need a quota (reference PLUG-31)."""

    vocabulary = "orch"

    def setUp(self) -> None:
        path = Path(self.mktemp())
        path.write_text(Naming.of(self.vocabulary).translate_text(LIMITED))
        more = {"admission_control_config_file": path, "vocabulary": self.vocabulary}
        self.more = more  # type: ignore[misc]
        super().setUp()

    def test_contains(self) -> None:
        """Storage of a class needs a quota for that class."""
        self.done("POST", CLAIMS, claim("free", "1Gi"))
        gold = claim("gold", "1Gi")
        gold["spec"]["storageClassName"] = "gold"
        name = f"gold.storageclass.{Naming.of(self.vocabulary).group('storage.orch.io')}/requests.storage"
        expected = f'persistentvolumeclaims "gold" is forbidden: insufficient quota to consume: {name}'
        self.assertEqual(self.refusal(CLAIMS, gold), expected)
        self.quota("rq", {name: "2Gi"})
        self.done("POST", CLAIMS, gold)
        self.assertEqual(self.used(), {name: "1Gi"})

    def test_scopes(self) -> None:
        """Pods of some classes need a quota for these."""
        self.done("POST", PODS, pod("a"))
        critical = pod("b", priorityClassName="system-node-critical")
        self.assertEqual(
            self.refusal(PODS, critical),
            'pods "b" is forbidden: insufficient quota to match these scopes: '
            "[{PriorityClass In [system-node-critical]}]",
        )
        self.quota("rq", {"pods": "1"}, scopes=["PriorityClass"])
        self.done("POST", PODS, critical)
        self.assertEqual(self.used(), {"pods": "1"})


class KubernetesLimitedTests(LimitedTests):
    vocabulary = "kubernetes"


CONFIGURATION = {"apiVersion": "apiserver.config.orch.io/v1", "kind": "ResourceQuotaConfiguration"}
TERM = {"scopeName": "PriorityClass", "operator": "Exists"}


def given(**more: Any) -> Given:
    return Given(obj={**CONFIGURATION, **more}, path="q.yaml", directory=".")


def limited(**more: Any) -> Given:
    return given(limitedResources=[{"resource": "pods", **more}])


class ConfigurationTests(QuotaCase):
    """The plugin's file (reference PLUG-31)."""

    def setUp(self) -> None:
        """Start no server for these tests."""

    def test_read(self) -> None:
        """Limited resources are read from the file, in its older kinds too."""
        scopes = [{"scopeName": "PriorityClass", "operator": "In", "values": ["a"]}]
        found = read(limited(apiGroup="g", matchContains=["x"], matchScopes=scopes))
        requirement = Requirement("PriorityClass", "In", ("a",))
        self.assertEqual(found, [Limited(group="g", plural="pods", contains=("x",), scopes=(requirement,))])
        self.assertEqual(read(None), ())
        for version in ("v1alpha1", "v1beta1"):
            kind = {"apiVersion": f"resourcequota.admission.orch.io/{version}", "kind": "Configuration"}
            self.assertEqual(read(given(**kind)), [])

    def test_mistakes(self) -> None:
        """Each mistake has one line that names its place."""
        rows: list[tuple[Given, str]] = [
            (
                given(kind="Other"),
                'q.yaml: no kind "Other" is registered for version "apiserver.config.orch.io/v1": use '
                "ResourceQuotaConfiguration of apiserver.config.orch.io/v1",
            ),
            (given(limited=[]), 'q.yaml: unknown field "limited"'),
            (given(limitedResources={}), "q.yaml: limitedResources: must be a list"),
            (given(limitedResources=[{}]), "q.yaml: limitedResources[0].resource: Required value"),
            (limited(more=1), 'q.yaml: limitedResources[0]: unknown field "more"'),
            (limited(matchContains="x"), "q.yaml: limitedResources[0].matchContains: must be a list"),
            (
                limited(matchScopes=[{**TERM, "scopeName": "Other"}]),
                'q.yaml: limitedResources[0].matchScopes[0].scopeName: Unsupported value: "Other": supported values: '
                '"Terminating", "NotTerminating", "BestEffort", "NotBestEffort", "PriorityClass", '
                '"CrossNamespacePodAffinity", "VolumeAttributesClass"',
            ),
            (
                limited(matchScopes=[{**TERM, "operator": "Is"}]),
                'q.yaml: limitedResources[0].matchScopes[0].operator: Unsupported value: "Is": supported values: '
                '"In", "NotIn", "Exists", "DoesNotExist"',
            ),
            (
                limited(matchScopes=[{**TERM, "operator": "In"}]),
                "q.yaml: limitedResources[0].matchScopes[0].values: must be at least one value when `operator` is "
                "'In' or 'NotIn'",
            ),
            (
                limited(matchScopes=[{**TERM, "values": ["a"]}]),
                "q.yaml: limitedResources[0].matchScopes[0].values: must be no value when `operator` is 'Exists' or "
                "'DoesNotExist'",
            ),
            (
                limited(matchScopes=[{**TERM, "key": "a"}]),
                'q.yaml: limitedResources[0].matchScopes[0]: unknown field "key"',
            ),
        ]
        for wrong, expected in rows:
            self.assertEqual(str(self.assertRaises(ConfigError, read, wrong)), expected)
