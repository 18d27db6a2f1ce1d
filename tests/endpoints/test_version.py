"""Build information in `/version` (reference DISC-6)."""

from __future__ import annotations

import json
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from orchtw import __version__
from orchtw.endpoints import version
from orchtw.naming.naming import Naming

COMMIT, OTHER = "a" * 40, "b" * 40


class BuildTests(SynchronousTestCase):
    """A package in a folder of its own."""

    def setUp(self) -> None:
        self.root = Path(self.mktemp())
        (self.root / "orchtw").mkdir(parents=True)
        self.patch(version, "_PACKAGE", self.root / "orchtw")

    def shown(self) -> tuple[str, str, str]:
        found = version.version_of("v1.24.0")
        return found["gitCommit"], found["gitTreeState"], found["buildDate"]

    def repository(self, **files: str) -> None:
        """Files of `.git`, whose names have `__` for slashes and `_` for hyphens."""
        for name, text in files.items():
            path = self.root / ".git" / name.replace("__", "/").replace("_", "-")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    def test_built(self) -> None:
        """A built package shows the details noted by its build."""
        noted = {"commit": COMMIT, "clean": True, "seconds": 1_700_000_000}
        (self.root / "orchtw" / "build.json").write_text(json.dumps(noted))
        self.assertEqual(self.shown(), (COMMIT, "clean", "2023-11-14T22:13:20Z"))

    def test_checkout(self) -> None:
        """A checkout shows its commit: that of its branch, packed or not, or that which is checked out by itself."""
        packed = f"# pack-refs with: peeled fully-peeled sorted\n{OTHER} refs/heads/other\n{COMMIT} refs/heads/main\n"
        self.repository(HEAD="ref: refs/heads/main\n", packed_refs=packed)
        self.assertEqual(self.shown()[:2], (COMMIT, "dirty"))
        self.repository(refs__heads__main=f"{OTHER}\n")
        self.assertEqual(self.shown()[0], OTHER)
        self.repository(HEAD=f"{COMMIT}\n")
        self.assertEqual(self.shown()[0], COMMIT)

    def test_both_vocabularies(self) -> None:
        """The release is told in its own form, the build is this project's, whatever the names (reference DISC-6)."""
        for naming in (Naming.orch(), Naming.kubernetes()):
            found = version.version_of(naming.git_version, (1, 36))
            self.assertEqual((found["major"], found["minor"]), ("1", "24"))
            self.assertRegex(found["gitVersion"], r"^v1\.24\.\d+$")
            self.assertEqual(found["compiler"], f"orchtw {__version__}")
            self.assertTrue(found["goVersion"].startswith("python3."))
            self.assertNotIn("emulationMajor", found)

    def test_emulation(self) -> None:
        """Since 1.33 a release names the one it emulates, and the oldest compatible one (reference DISC-17)."""
        for reported, emulated, shown in (
            ("v1.33.0", (1, 36), ("1", "33", "1", "32")),
            ("v1.36.0", (1, 36), ("1", "36", "1", "35")),
            ("v1.34.0", (1, 24), ("1", "24", "1", "24")),
            ("v1.32.0", (1, 36), ()),
        ):
            found = version.version_of(reported, emulated)
            self.assertEqual(
                tuple(value for name, value in found.items() if "lation" in name or "Compat" in name), shown
            )

    def test_unknown(self) -> None:
        """Where neither is to be had, the commit is zeros."""
        self.assertEqual(self.shown(), ("0" * 40, "dirty", "1970-01-01T00:00:00Z"))
