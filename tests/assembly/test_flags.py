"""Agreement of the flags' choices with the registries."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator
from pathlib import Path

import msgspec
from twisted.trial.unittest import SynchronousTestCase

from orchtw.admission.plugins import PLUGINS
from orchtw.assembly.flags import CHOICES, FLAGS, parse
from orchtw.authz import MODES
from orchtw.config import reading
from orchtw.controllers import CONTROLLERS
from orchtw.errors import ConfigError
from orchtw.storage import STORES

PAGE = Path(__file__).resolve().parent.parent.parent / "docs" / "reference" / "flags.md"
OWN_DEFAULTS = ("bind-address", "cert-dir")
"""Flags of which FLAG-4 tells another default than the release has."""

MORE = msgspec.structs.replace(
    CHOICES, stores=("sqlite", "shared"), authorization_modes=("Node", "RBAC", "Opinion"), controllers=("job",)
)


class ChoicesTests(SynchronousTestCase):
    """`CHOICES`, and flags with other ones."""

    def test_registries(self) -> None:
        """Each name of a registry can be picked, and no other (reference FLAG-5)."""
        found = (CHOICES.stores, CHOICES.authorization_modes, CHOICES.admission_plugins, CHOICES.controllers)
        self.assertEqual(found, (tuple(STORES), tuple(MODES), tuple(PLUGINS), tuple(CONTROLLERS)))

    def test_plugins(self) -> None:
        """Admission plugins that are not there end the start before anything is made (reference ADM-1)."""
        error = self.assertRaises(ConfigError, parse, ["--enable-admission-plugins=Nothing"])
        self.assertEqual(error.problems, ('enable-admission-plugins plugin "Nothing" is unknown',))

    def test_new_names(self) -> None:
        """A name new to a registry is accepted; a removed one is refused with the list of known names."""
        picked = reading.parse(
            ["--storage-backend=shared", "--authorization-mode=Opinion", "--controllers=job"], MORE
        )
        self.assertEqual((picked.storage.storage_backend, picked.controllers.names), ("shared", ("job",)))
        error = self.assertRaises(ConfigError, reading.parse, ["--controllers=namespace"], MORE)
        self.assertEqual(
            error.problems, ('--controllers: "namespace" is not in the list of known controllers: job',)
        )

    def test_other_modes(self) -> None:
        """A mode that is in no registry is refused."""
        error = self.assertRaises(ConfigError, reading.parse, ["--authorization-mode=AlwaysDeny"], MORE)
        self.assertEqual(error.problems, ('--authorization-mode: "AlwaysDeny" is not a valid mode',))

    def test_help(self) -> None:
        """The help names them."""
        texts = {flag.name: flag.help for flag in reading.flags_of(MORE)}
        self.assertTrue(texts["storage-backend"].startswith("Store to use: sqlite, shared; empty means "))
        self.assertTrue(texts["controllers"].endswith("There are: job."))
        self.assertFalse([flag.name for flag in FLAGS if "{" in flag.help])


class NamesTests(SynchronousTestCase):
    """Names and defaults of the release (reference FLAG-7, FLAG-8, FLAG-9, FLAG-10, FLAG-11, FLAG-12)."""

    def test_as_told(self) -> None:
        """Each flag that the reference names is there, with the default that it tells (FLAG-6 to FLAG-12)."""
        known = {name: flag for flag in FLAGS for name in flag.names}
        self.assertIs(known["kubelet-port"], known["orchlet-port"])
        for number in range(6, 13):
            names = list(self.told(f"FLAG-{number}", known))
            self.assertGreater(len(names), 5)
            for name, default in names:
                self.assertIn(name, known, f"FLAG-{number}")
                if default and name not in OWN_DEFAULTS:
                    flag = known[name]
                    self.assertEqual(flag.kind.parse([default]), flag.default, name)

    def told(self, rule: str, known: Container[str]) -> Iterator[tuple[str, str]]:
        """Names and defaults in a rule; `-mode` is short for a name that begins as the last whole one does."""
        text = PAGE.read_text().partition(f"**{rule}** ")[2].partition("\n\n")[0]
        text = re.sub(r"\([^()]*\)|[A-Z][\w' ]*:", "", text).replace(". ", ", ").replace(";", ",")
        whole = ""
        for part in re.split(r",\s+", text.rstrip(".")):
            name, _, default = part.strip().partition("=")
            if not name.startswith("-"):
                whole = name
            else:
                stems = [whole[: dash.start()] for dash in re.finditer("-", whole)]
                name = next((stem + name for stem in reversed(stems) if stem + name in known), whole + name)
            if "…" not in name:
                yield name, default
