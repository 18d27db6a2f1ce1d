"""The file of PodSecurity (reference PLUG-40, PLUG-102)."""

from __future__ import annotations

from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from orchtw.admission.configuration import Given
from orchtw.admission.plugins.pod_security.configuration import PodSecuritySettings, read
from orchtw.admission.plugins.pod_security.policy import NamespacePolicy, Standard
from orchtw.errors import ConfigError

HEAD = {"apiVersion": "pod-security.admission.config.orch.io/v1beta1", "kind": "PodSecurityConfiguration"}


def given(head: dict[str, Any] | None = None, **more: Any) -> Given:
    """Return the settings of a file named f."""
    return Given(obj={**(HEAD if head is None else head), **more}, path="f", directory=".")


class ReadTests(SynchronousTestCase):
    """Reading, and what is wrong."""

    def wrong(self, found: Given) -> list[str]:
        return list(self.assertRaises(ConfigError, read, found).problems)

    def test_empty(self) -> None:
        """Without a file, and with an empty one, nothing is refused."""
        self.assertEqual(read(None), PodSecuritySettings())
        self.assertEqual(read(given()), PodSecuritySettings())
        self.assertEqual(read(given(defaults=None, exemptions={"usernames": None})), PodSecuritySettings())
        self.assertEqual(read(given(defaults={"enforce": "", "warn-version": ""})), PodSecuritySettings())

    def test_whole(self) -> None:
        """Everything, in both versions."""
        defaults = {"enforce": "baseline", "enforce-version": "v1.22", "audit": "restricted"}
        more = {"audit-version": "latest", "warn": "restricted", "warn-version": "v1.0"}
        exemptions = {"usernames": ["a:b"], "namespaces": ["x", "y"], "runtimeClasses": ["r.s"]}
        expected = PodSecuritySettings(
            defaults=NamespacePolicy(
                enforce=Standard("baseline", "v1.22"),
                audit=Standard("restricted"),
                warn=Standard("restricted", "v1.0"),
            ),
            users=frozenset({"a:b"}),
            namespaces=frozenset({"x", "y"}),
            runtime_classes=frozenset({"r.s"}),
        )
        for version in ("v1beta1", "v1alpha1"):
            head = {**HEAD, "apiVersion": f"pod-security.admission.config.orch.io/{version}"}
            self.assertEqual(read(given(head, defaults={**defaults, **more}, exemptions=exemptions)), expected)

    def test_kind(self) -> None:
        """Another kind or version, or none, is one line."""
        for head, expected in (
            ({}, "f: Object 'apiVersion' is missing"),
            ({"apiVersion": HEAD["apiVersion"]}, "f: Object 'Kind' is missing"),
            ({**HEAD, "kind": "X"}, f'f: no kind "X" is registered for version "{HEAD["apiVersion"]}"'),
            (
                {**HEAD, "apiVersion": "pod-security.admission.config.orch.io/v1"},
                'f: no kind "PodSecurityConfiguration" is registered for version '
                '"pod-security.admission.config.orch.io/v1"',
            ),
        ):
            self.assertEqual(self.wrong(given(head)), [expected])

    def test_forms(self) -> None:
        """Unknown fields and other types are one line each."""
        for more, expected in (
            ({"x": 1}, 'f: unknown field "x"'),
            ({"defaults": {"x": 1}}, 'f: defaults: unknown field "x"'),
            ({"exemptions": {"users": []}}, 'f: exemptions: unknown field "users"'),
            ({"defaults": []}, "f: defaults: must be a mapping"),
            ({"defaults": {"enforce": 1}}, "f: defaults.enforce: must be a string"),
            ({"exemptions": {"namespaces": "x"}}, "f: exemptions.namespaces: must be a list"),
            ({"exemptions": {"namespaces": [1]}}, "f: exemptions.namespaces: must be a list of strings"),
        ):
            self.assertEqual(self.wrong(given(**more)), [expected])

    def test_values(self) -> None:
        """Every wrong value is a line of its own."""
        defaults = {"enforce": "a", "enforce-version": "b", "audit": "c", "audit-version": "d", "warn": "e"}
        exemptions = {
            "usernames": ["", "u", "u"],
            "namespaces": ["A", "n", "n"],
            "runtimeClasses": ["_", "r", "r"],
        }
        found = self.wrong(given(defaults={**defaults, "warn-version": "f"}, exemptions=exemptions))
        level, version = "must be one of privileged, baseline, restricted", 'must be "latest" or "v1.x"'
        self.assertEqual(
            found[:6],
            [
                f'f: defaults.enforce: Invalid value: "a": {level}',
                f'f: defaults.enforce-version: Invalid value: "b": {version}',
                f'f: defaults.audit: Invalid value: "c": {level}',
                f'f: defaults.audit-version: Invalid value: "d": {version}',
                f'f: defaults.warn: Invalid value: "e": {level}',
                f'f: defaults.warn-version: Invalid value: "f": {version}',
            ],
        )
        self.assertEqual(found[6:8], ["f: exemptions.usernames[0]: Required value", self.duplicate("usernames", "u")])
        self.assertIn('f: exemptions.namespaces[0]: Invalid value: "A": a lowercase RFC 1123 label must', found[8])
        self.assertEqual(found[9], self.duplicate("namespaces", "n"))
        self.assertIn('f: exemptions.runtimeClasses[0]: Invalid value: "_": a lowercase RFC 1123', found[10])
        self.assertEqual(found[11:], [self.duplicate("runtimeClasses", "r")])

    def duplicate(self, name: str, value: str) -> str:
        return f'f: exemptions.{name}[2]: Duplicate value: "{value}"'
