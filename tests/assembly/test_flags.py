"""Agreement of the flags' choices with the registries."""

from __future__ import annotations

import msgspec
from twisted.trial.unittest import SynchronousTestCase

from orchtw.admission.plugins import PLUGINS
from orchtw.assembly.flags import CHOICES, FLAGS, parse
from orchtw.authz import MODES
from orchtw.config import reading
from orchtw.controllers import CONTROLLERS
from orchtw.errors import ConfigError
from orchtw.storage import STORES

MORE = msgspec.structs.replace(
    CHOICES, stores=("sqlite", "shared"), authorization_modes=("Node", "RBAC", "Opinion"), controllers=("job",)
)


class ChoicesTests(SynchronousTestCase):
    """`CHOICES`, and flags with other ones."""

    def test_registries(self) -> None:
        """Each name of a registry can be picked, and no other."""
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
