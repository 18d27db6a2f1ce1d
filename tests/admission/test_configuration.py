"""AdmissionConfiguration and the plugins it configures (reference ADM-12, ADM-16, ADM-17)."""

from __future__ import annotations

import json
from pathlib import Path
from types import NoneType
from typing import Any

import yaml
from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from orchtw.admission.configuration import Given, read
from orchtw.admission.order import ORDER
from orchtw.errors import ConfigError
from orchtw.wire.objects import Object
from tests.properties import examples

V1 = "apiserver.config.orch.io/v1"
LIMITS: Object = {"apiVersion": "eventratelimit.admission.orch.io/v1alpha1", "kind": "Configuration", "limits": []}


SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8)
WORDS = st.sampled_from(["apiVersion", "kind", "plugins", "name", "path", "configuration", "imagePolicy", V1])
NAMES = st.sampled_from(["AdmissionConfiguration", "EventRateLimit", "Priority", "no-such-file", ".", "/"])
VALUES = st.recursive(
    SCALARS | WORDS | NAMES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS | st.text(max_size=4), inner, max_size=4),
    max_leaves=12,
)
HEAD = st.sampled_from([{}, {"apiVersion": V1, "kind": "AdmissionConfiguration"}])


class ConfigurationTests(SynchronousTestCase):
    def setUp(self) -> None:
        """A folder for the files."""
        self.folder = Path(self.mktemp()).absolute()
        self.folder.mkdir()
        self.path = self.folder / "admission.yaml"

    def write(self, *plugins: Object, version: str = V1, **more: Any) -> None:
        """Write an AdmissionConfiguration to a file."""
        file = {"apiVersion": version, "kind": "AdmissionConfiguration", "plugins": list(plugins), **more}
        self.path.write_text(yaml.safe_dump(file))

    def got(self, plugin: str = "EventRateLimit") -> Given | None:
        """Return the configuration that a plugin gets."""
        return read(self.path, ORDER).of(plugin)

    def refused(self, plugin: str = "EventRateLimit") -> str:
        """The line of an error, after the path."""
        error = self.assertRaises(ConfigError, self.got, plugin)
        [line] = error.problems
        self.assertNotIn("\n", line)
        return str(line).replace(f"{self.folder}/", "")

    def obj(self, plugin: str = "EventRateLimit") -> Object:
        """The object that a plugin gets."""
        found = self.got(plugin)
        assert found is not None
        return found.obj

    def test_no_file(self) -> None:
        """Without the flag nobody gets anything."""
        self.assertIsNone(read(None, ORDER).of("EventRateLimit"))

    def test_versions(self) -> None:
        """Four versions, each under the names of either vocabulary."""
        groups = ("apiserver.config.{}/v1", "apiserver.config.{}/v1beta1", "apiserver.{}/v1alpha1")
        for group in (*groups, "apiserver.{}/v1beta1"):
            for domain in ("orch.io", "k8s.io"):
                self.write({"name": "EventRateLimit", "configuration": LIMITS}, version=group.format(domain))
                self.assertEqual(self.obj(), LIMITS)

    def test_inline(self) -> None:
        """Where an inline configuration stands is known, and relative paths in it begin beside the file."""
        self.write({"name": "Priority"}, {"name": "EventRateLimit", "configuration": LIMITS})
        found = self.got()
        where = "plugins[1].configuration"
        wanted = Given(obj=LIMITS, path=str(self.path), directory=str(self.folder), where=where)
        self.assertEqual(found, wanted)
        assert found is not None
        self.assertEqual(str(found.fields().wrong("a", "b")), f"{self.path}: {where}.a: b")

    def test_path(self) -> None:
        """A relative path begins at the file's folder; the kind comes in neutral names; JSON and YAML are read."""
        (self.folder / "more").mkdir()
        inner = self.folder / "more" / "limits"
        foreign = {**LIMITS, "apiVersion": "eventratelimit.admission.k8s.io/v1alpha1"}
        for path in ("more/limits", str(inner)):
            for text in (yaml.safe_dump(foreign), json.dumps(foreign, indent="\t")):
                inner.write_text(text)
                self.write({"name": "EventRateLimit", "path": path})
                found = self.got()
                self.assertEqual(found, Given(obj=LIMITS, path=str(inner), directory=str(inner.parent)))

    def test_empty_path(self) -> None:
        """An empty file is an empty configuration; an entry without one gives nothing."""
        (self.folder / "empty").write_text("")
        self.write({"name": "EventRateLimit", "path": "empty"}, {"name": "Priority"})
        self.assertEqual(self.obj(), {})
        self.assertIsNone(self.got("Priority"))

    def test_first_counts(self) -> None:
        """Of two entries for a plugin the first counts, and the file of the second is not read."""
        entry = {"name": "EventRateLimit"}
        self.write({**entry, "configuration": LIMITS}, {**entry, "path": "not-there"})
        self.assertEqual(self.obj(), LIMITS)

    def test_off(self) -> None:
        """The file of a plugin that does not ask for it need not be there."""
        self.write({"name": "Priority", "path": "not-there"})
        self.assertIsNone(self.got())

    def test_bare(self) -> None:
        """A file without a kind may be that of the two plugins that have none (reference ADM-17)."""
        for field in ("imagePolicy", "podNodeSelectorPluginConfig"):
            self.path.write_text(f"{field}: {{a: b}}\n")
            for plugin in ("ImagePolicyWebhook", "PodNodeSelector"):
                self.assertEqual(self.obj(plugin), {field: {"a": "b"}})
            self.assertIsNone(self.got())

    @examples(100)
    @given(VALUES, HEAD, st.lists(VALUES | st.dictionaries(WORDS, VALUES, max_size=3), max_size=3))
    def test_anything(self, value: Any, head: Object, plugins: list[Any]) -> None:
        """Whatever a file holds, it is read or refused with one line."""
        whole = {**value, **head, "plugins": plugins} if isinstance(value, dict) else value
        for text in (json.dumps(whole), yaml.dump(whole, Dumper=yaml.CSafeDumper)):
            self.path.write_text(text)
            for plugin in ("EventRateLimit", "ImagePolicyWebhook"):
                try:
                    found = read(self.path, ORDER).of(plugin)
                except ConfigError as error:
                    self.assertEqual(len(error.problems), 1)
                    self.assertNotIn("\n", str(error))
                else:
                    self.assertIsInstance(found and found.obj, (dict, NoneType))

    def test_wrong_entries(self) -> None:
        """Each mistake has one line with its place."""
        name = {"name": "EventRateLimit"}
        table: list[tuple[Any, str]] = [
            ("x", "plugins[0]: must be a mapping"),
            ({}, "plugins[0].name: is missing"),
            ({"name": 1}, "plugins[0].name: must be a string"),
            ({"name": "Nope"}, 'plugins[0].name: admission plugin "Nope" is unknown'),
            ({**name, "file": "x"}, 'plugins[0]: unknown field "file"'),
            ({**name, "path": 1}, "plugins[0].path: must be a string"),
            ({**name, "configuration": []}, "plugins[0].configuration: must be a mapping"),
            (
                {**name, "path": "x", "configuration": {}},
                "plugins[0]: path and configuration are mutually exclusive",
            ),
            ({**name, "path": "nope"}, "plugins[0].path: nope: No such file or directory"),
        ]
        for entry, line in table:
            self.write(entry)
            self.assertEqual(self.refused(), f"admission.yaml: {line}")

    def test_wrong_files(self) -> None:
        """So has each mistake of the file itself."""
        kind = 'no kind "Other" is registered for version "{}": use AdmissionConfiguration of {}'
        table = [
            ("- a\n", "must be a mapping"),
            ("plugins: []\n", "Object 'apiVersion' is missing"),
            (f"apiVersion: {V1}\n", "Object 'Kind' is missing"),
            (f"apiVersion: {V1}\nkind: Other\n", kind.format(V1, V1)),
            (
                "apiVersion: apiserver.config.k8s.io/v2\nkind: Other\n",
                kind.format("apiserver.config.k8s.io/v2", "apiserver.config.k8s.io/v1"),
            ),
            (f"apiVersion: {V1}\nkind: AdmissionConfiguration\nplugin: []\n", 'unknown field "plugin"'),
            (f"apiVersion: {V1}\nkind: AdmissionConfiguration\nplugins: x\n", "plugins: must be a list"),
        ]
        for text, line in table:
            self.path.write_text(text)
            self.assertEqual(self.refused(), f"admission.yaml: {line}")

    def test_unreadable(self) -> None:
        """A file that is not there, no text, no YAML, no JSON or has a key twice: one line that names the flag."""
        flag = "--admission-control-config-file: admission.yaml: "
        self.assertEqual(self.refused(), f"{flag}No such file or directory")
        for text in (b"\xff", b"a: [", b"{", b'{"a": 1, "a": 2}', b"a: 1\na: 2\n"):
            self.path.write_bytes(text)
            self.assertEqual(self.refused()[: len(flag)], flag)
        self.assertEqual(self.refused(), f'{flag}line 2: key "a" already set in map')
