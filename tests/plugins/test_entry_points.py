"""Plugins of other packages, as their entry points describe them."""
# covers: orchtw.plugins.records

from __future__ import annotations

import pickle
import sys
from types import ModuleType
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from orchtw.assembly.flags import FLAGS, parse
from orchtw.errors import ConfigError
from orchtw.flags.flag import TEXT, Flag
from orchtw.plugins import AdmissionPlugin, AuthenticationPlugin, AuthorizationPlugin, ControllerPlugin, Plugins
from orchtw.plugins.entry_points import EntryPoint, load


def make(*_: Any) -> None:
    """Plugin factory that these tests never call."""


def flag(name: str) -> Flag:
    return Flag(name=name, kind=TEXT, default="nothing", help="A word.", section="Example")


class EntryPointCase(SynchronousTestCase):
    """A module `example_plugins` whose attributes entry points can name."""

    def setUp(self) -> None:
        self.module = ModuleType("example_plugins")
        self.patch(sys, "modules", {**sys.modules, "example_plugins": self.module})

    def entry_point(self, record: object, name: str = "Example", group: str = "orchtw.admission") -> EntryPoint:
        self.module.__dict__["record"] = record
        return EntryPoint(group, name, "example_plugins:record", "example 1.0")

    def problems(self, plugins: Plugins) -> tuple[str, ...]:
        return self.assertRaises(ConfigError, parse, [], plugins).problems  # type: ignore[no-any-return]


class LoadTests(EntryPointCase):
    def test_record(self) -> None:
        """A plugin is known by its entry point's name (reference EXT-2)."""
        record = AdmissionPlugin(make=make)
        plugins = load([self.entry_point(record)])
        self.assertEqual(plugins.of(AdmissionPlugin), {"Example": record})
        self.assertEqual(plugins.of(AuthorizationPlugin), {})

    def test_missing_module(self) -> None:
        """A module that is not there, or fails, is one line that names the package (reference EXT-3)."""
        plugins = load([EntryPoint("orchtw.storage", "far", "no_such_module:X", "example 1.0")])
        self.assertEqual(
            self.problems(plugins),
            (
                "plugin far of orchtw.storage (example 1.0): cannot be loaded: "
                "ModuleNotFoundError: No module named 'no_such_module'",
            ),
        )

    def test_wrong_object(self) -> None:
        """An object that is not a record, or another group's, cannot be used (reference EXT-3)."""
        for record in (make, ControllerPlugin(make=make), AdmissionPlugin):
            self.assertEqual(
                self.problems(load([self.entry_point(record)])),
                (
                    "plugin Example of orchtw.admission (example 1.0): example_plugins:record is not an instance of "
                    "orchtw.plugins.AdmissionPlugin",
                ),
            )

    def test_names(self) -> None:
        """A name that flags could not carry is refused (reference EXT-3)."""
        for name in ("a,b", "-a", "", "a" * 64, "a=b", "é"):
            (problem,) = load([self.entry_point(AdmissionPlugin(make=make), name)]).problems
            self.assertIn("a name has at most 63 letters", problem)

    def test_other_package(self) -> None:
        """The second plugin of a name is refused (reference EXT-3)."""
        one = self.entry_point(AdmissionPlugin(make=make))
        (problem,) = load([one, one]).problems
        self.assertIn("another package has a plugin of that name", problem)

    def test_built_in_name(self) -> None:
        """A built-in plugin cannot be replaced (reference EXT-3)."""
        plugins = load([self.entry_point(AuthorizationPlugin(make=make), "RBAC", "orchtw.authorization")])
        self.assertEqual(
            self.problems(plugins),
            ("plugin RBAC of orchtw.authorization (example 1.0): the server has a built-in one of that name",),
        )

    def test_other_process(self) -> None:
        """Another process loads the same plugins, whatever their factories are (reference EXT-1)."""
        plugins = load([self.entry_point(AdmissionPlugin(make=lambda *_: None))])
        found = pickle.loads(pickle.dumps(plugins))
        self.assertEqual(list(found.of(AdmissionPlugin)), ["Example"])


class FlagTests(EntryPointCase):
    def test_values(self) -> None:
        """A plugin's flag has its default, or what the command line says (reference EXT-4)."""
        plugins = Plugins.of_records({"Example": AdmissionPlugin(make=make, flags=(flag("example-word"),))})
        self.assertEqual(parse([], plugins).plugins.values, {"example-word": "nothing"})
        self.assertEqual(parse(["--example-word=a"], plugins).plugins.values, {"example-word": "a"})

    def test_without_the_plugin(self) -> None:
        """Without its plugin a flag is unknown (reference EXT-4)."""
        error = self.assertRaises(ConfigError, parse, ["--example-word=a"], Plugins())
        self.assertEqual(error.problems, ("unknown flag: --example-word",))

    def test_taken(self) -> None:
        """A flag of a taken name ends the start (reference EXT-4)."""
        for name in ("data-dir", FLAGS[-1].name):
            plugins = Plugins.of_records({"Example": AdmissionPlugin(make=make, flags=(flag(name),))})
            self.assertEqual(
                self.problems(plugins), (f"a plugin's flag --{name}: there is already a flag of that name",)
            )

    def test_log(self) -> None:
        """The log names each plugin and its package (reference EXT-4)."""
        config = parse([], load([self.entry_point(AdmissionPlugin(make=make))]))
        self.assertIn("Found plugin Example of orchtw.admission (example 1.0)", config.notes)


class PlaceTests(EntryPointCase):
    def test_authentication(self) -> None:
        """A method before one that does not exist ends the start (reference EXT-5)."""
        for tokens, known in ((False, "request-header, client-certificate"), (True, "token-file, service-accounts")):
            plugins = Plugins.of_records({"a": AuthenticationPlugin(make=make, tokens=tokens, before="nothing")})
            (problem,) = self.problems(plugins)
            self.assertIn(f'before="nothing" is not one of {known}', problem)

    def test_admission(self) -> None:
        """A plugin with no place, or two, ends the start (reference EXT-5)."""
        plugins = Plugins.of_records(
            {
                "A": AdmissionPlugin(make=make, before="Nothing"),
                "B": AdmissionPlugin(make=make, before="Priority", after="Priority"),
            }
        )
        self.assertEqual(
            self.problems(plugins),
            (
                'plugin A of orchtw.admission: there is no plugin "Nothing" to place it next to',
                "plugin B of orchtw.admission: both before=Priority and after=Priority are set",
            ),
        )
