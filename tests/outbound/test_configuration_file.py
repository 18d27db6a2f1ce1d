"""Configuration files of the API server, and how their mistakes are told (reference AUTHN-62, AUTHZ-40)."""

from __future__ import annotations

from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from orchtw.errors import ConfigError
from orchtw.outbound.configuration_file import Mistakes, configuration
from orchtw.outbound.fields import Fields

FLAG = "--some-config"
HEAD = "apiVersion: apiserver.config.orch.io/v1\nkind: SomeConfiguration\n"


class ConfigurationTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.path = Path(self.mktemp())

    def read(self, text: str | bytes) -> Fields:
        self.path.write_bytes(text.encode() if isinstance(text, str) else text)
        return configuration(FLAG, self.path, "SomeConfiguration", "v1", "v1beta1")

    def test_read(self) -> None:
        """YAML and JSON are read, under the group of either vocabulary and in each of the versions."""
        self.assertEqual(self.read(HEAD + "a: b\n").text("a"), "b")
        later = '{"apiVersion": "apiserver.config.k8s.io/v1beta1", "kind": "SomeConfiguration", "a": "b"}'
        self.assertEqual(self.read(later).text("a"), "b")

    def test_refused(self) -> None:
        """Repeated keys, another kind or version, a list and malformed YAML are refused with the flag."""
        other = "is not SomeConfiguration of apiserver.config.orch.io/v1"
        for text, why in (
            (HEAD + "a: b\na: c\n", 'line 4: key "a" already set in map'),
            (HEAD + "a: [{b: c, b: d}]\n", 'line 3: key "b" already set in map'),
            (HEAD.replace("Some", "Other"), other),
            (HEAD.replace("v1", "v2"), other),
            ("- a\n", "must be a mapping"),
            ("", "must be a mapping"),
            ("a: [", "is neither YAML nor JSON"),
            (b"\xff", "is neither YAML nor JSON"),
            ("a: " + "[" * 20_000, "is neither YAML nor JSON"),
        ):
            error = self.assertRaises(ConfigError, self.read, text)
            (line,) = error.problems
            self.assertTrue(line.startswith(f"{FLAG}: {self.path}: {why}"), line)

    def test_missing(self) -> None:
        """A file that cannot be read is refused with the reason of the system."""
        error = self.assertRaises(ConfigError, configuration, FLAG, self.path, "SomeConfiguration", "v1")
        self.assertEqual(str(error), f"{FLAG}: {self.path}: No such file or directory")


class MistakesTests(SynchronousTestCase):
    def test_together(self) -> None:
        """A mistake ends its part of the file only, and all are told together; other errors go on at once."""
        mistakes = Mistakes()
        for text in ("first", "second"):
            with mistakes.part():
                raise ConfigError(text)
        error = self.assertRaises(ConfigError, mistakes.check, "--flag", Path("file"))
        self.assertEqual(error.problems, ("--flag: first", "--flag: second"))
        with self.assertRaises(ZeroDivisionError), Mistakes().part():
            raise ZeroDivisionError

    def test_no_mistakes(self) -> None:
        """A file without mistakes passes."""
        Mistakes().check("--flag", Path("file"))
