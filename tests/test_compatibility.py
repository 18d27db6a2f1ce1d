"""docs/compatibility.md against the code: lists are those of the registries, and what is served is not missing."""

from __future__ import annotations

import re

from twisted.trial.unittest import SynchronousTestCase

from orchtw.admission.plugins import PLUGINS
from orchtw.assembly.flags import FLAGS
from orchtw.config.feature_gates import GATES
from orchtw.config.ignored import REFUSED
from orchtw.controllers import CONTROLLERS
from tests.test_docs import ROOT

PAGE = (ROOT / "docs/compatibility.md").read_text()
OF_A_KIND = frozenset({"CSIStorageCapacity", "ClusterTrustBundleProjection", "PodCertificateProjection"})
"""Gates whose names are those of kinds and types, too."""


def row(subject: str) -> tuple[str, str]:
    """Return the page's columns on a subject: today's state, and what is missing."""
    (line,) = (line for line in PAGE.splitlines() if line.startswith(f"| {subject} |"))
    _, _, today, missing, _ = re.split(r" ?\| ?", line)
    return today, missing


def names(text: str) -> set[str]:
    """Return the words that a text marks as code."""
    return set(re.findall(r"`([^`]+)`", text))


class ListTests(SynchronousTestCase):
    """Features that the page lists, and those it says are missing."""

    def test_plugins(self) -> None:
        """Every admission plugin is named, and webhooks do not count as missing."""
        today, missing = row("Admission")
        self.assertEqual(set(PLUGINS) - names(today), set())
        self.assertEqual(missing, "")

    def test_controllers(self) -> None:
        """The controllers are those that there are."""
        self.assertEqual(names(row("Controllers")[0]), set(CONTROLLERS))

    def test_gates(self) -> None:
        """The gates with an effect are those that the code reads (reference OPS-25)."""
        tables = {"feature_gates.py", "newer_gates.py"}
        sources = (path for path in (ROOT / "orchtw").rglob("*.py") if path.name not in tables)
        code = "".join(path.read_text() for path in sources)
        looked_up = {name for name in GATES if f'"{name}"' in code} - OF_A_KIND
        table = PAGE.partition("## Feature gates")[2].partition("## ")[0]
        listed = {name for line in table.splitlines() if line.startswith("| `") for name in names(line.split("|")[1])}
        self.assertEqual(listed, looked_up)

    def test_flags(self) -> None:
        """The flags listed as missing are those that are refused (reference FLAG-14)."""
        self.assertEqual(names(row("Flags")[1]), {name for name, *_ in REFUSED})

    def test_nothing_served_is_missing(self) -> None:
        """No page says that audit is missing, as it has flags."""
        self.assertTrue([flag for flag in FLAGS if flag.name == "audit-policy-file"])
        for page in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))):
            self.assertNotRegex(page.read_text(), r"(?i)audit[^.|]{0,40}is not there")
