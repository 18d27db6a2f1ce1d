"""Policies in labels of namespaces (reference PLUG-35)."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from orchtw.admission.plugins.pod_security.policy import (
    NO_LEVEL,
    NO_VERSION,
    Labels,
    NamespacePolicy,
    Standard,
    is_version,
    stricter,
)
from orchtw.naming.naming import Naming

PREFIX = "pod-security.orch.io/"


def read(defaults: NamespacePolicy | None = None, /, **labels: str) -> NamespacePolicy:
    """The policy of labels, whose names are here without prefix and with _ for -."""
    named = {PREFIX + key.replace("_", "-"): value for key, value in labels.items()}
    return Labels(Naming.orch(), defaults or NamespacePolicy()).read(named)


class LabelsTests(SynchronousTestCase):
    """Labels, defaults and mistakes."""

    def test_none(self) -> None:
        """Without labels the defaults hold."""
        self.assertEqual(read(), NamespacePolicy())
        defaults = NamespacePolicy(enforce=Standard("baseline", "v1.3"), warn=Standard("restricted"))
        self.assertEqual(read(defaults), defaults)
        self.assertEqual(read(other="restricted"), NamespacePolicy())

    def test_levels_and_versions(self) -> None:
        """Each mode has its own level and version; what is left out is as by default."""
        found = read(enforce="baseline", enforce_version="v1.24", audit="restricted", warn_version="v1.0")
        expected = NamespacePolicy(
            enforce=Standard("baseline", "v1.24"), audit=Standard("restricted"), warn=Standard("privileged", "v1.0")
        )
        self.assertEqual(found, expected)
        defaults = NamespacePolicy(enforce=Standard("baseline", "v1.3"))
        self.assertEqual(str(read(defaults, enforce="restricted").enforce), "restricted:v1.3")

    def test_vocabulary(self) -> None:
        """Labels have the names of the vocabulary that is served."""
        labels = Labels(Naming.kubernetes(), NamespacePolicy())
        found = labels.read({"pod-security.kubernetes.io/enforce": "baseline", f"{PREFIX}warn": "x"})
        self.assertEqual(found, NamespacePolicy(enforce=Standard("baseline")))

    def test_wrong_levels(self) -> None:
        """A wrong level refuses most to enforce, and says nothing in the other modes."""
        found = read(enforce="x", audit="", warn="Restricted")
        levels = [found.enforce.level, found.audit.level, found.warn.level]
        self.assertEqual(levels, ["restricted", "privileged", "privileged"])
        texts = [str(problem) for problem in found.problems]
        expected = [
            f'metadata.labels[{PREFIX}enforce]: Invalid value: "x": {NO_LEVEL}',
            f'metadata.labels[{PREFIX}audit]: Invalid value: "": {NO_LEVEL}',
            f'metadata.labels[{PREFIX}warn]: Invalid value: "Restricted": {NO_LEVEL}',
        ]
        self.assertEqual(texts, expected)
        self.assertEqual(NO_LEVEL, "must be one of privileged, baseline, restricted")
        self.assertFalse(found.pods_pass or found.templates_pass)

    def test_wrong_versions(self) -> None:
        """A wrong version is taken for the latest."""
        found = read(enforce="baseline", enforce_version="v2.0", audit_version="v1.01", warn_version="1.2")
        self.assertEqual(found.enforce, Standard("baseline"))
        self.assertEqual(len(found.problems), 3)
        self.assertEqual(
            str(found.problems[0]),
            f'metadata.labels[{PREFIX}enforce-version]: Invalid value: "v2.0": must be "latest" or "v1.x"',
        )

    def test_versions(self) -> None:
        """A version is the latest or one of the first major version, be it yet to come."""
        for version in ("latest", "v1.0", "v1.9", "v1.24", "v1.100"):
            self.assertTrue(is_version(version), version)
        wrong = ("", "v1", "v1.", "v1.01", "v1.-1", "v1.2.3", "v2.1", "1.2", "V1.2", "v1.2\n", "v1.٣", "Latest")
        for version in wrong:
            self.assertFalse(is_version(version), version)
        self.assertFalse(is_version("v1." + "9" * 40))
        self.assertEqual(NO_VERSION, 'must be "latest" or "v1.x"')

    def test_passes(self) -> None:
        """Policies without a restrictive mode are recognised."""
        loose = read(enforce_version="v1.2")
        self.assertTrue(loose.pods_pass and loose.templates_pass)
        enforced = read(enforce="baseline")
        self.assertTrue(enforced.templates_pass)
        self.assertFalse(enforced.pods_pass)
        for mode in ("audit", "warn"):
            told = read(**{mode: "baseline"})
            self.assertFalse(told.pods_pass or told.templates_pass)


class StricterTests(SynchronousTestCase):
    """Checks of existing pods after a change of labels."""

    def test_table(self) -> None:
        """They are if the level or the version of what is enforced may refuse them."""
        for old, new, expected in (
            ("privileged:latest", "baseline:latest", True),
            ("privileged:latest", "restricted:latest", True),
            ("baseline:latest", "restricted:latest", True),
            ("baseline:v1.0", "baseline:v1.1", True),
            ("baseline:v1.1", "baseline:v1.0", True),
            ("restricted:v1.0", "baseline:latest", True),
            ("baseline:latest", "baseline:latest", False),
            ("restricted:v1.0", "baseline:v1.0", False),
            ("restricted:latest", "baseline:latest", False),
            ("restricted:v1.0", "privileged:latest", False),
            ("baseline:latest", "privileged:latest", False),
        ):
            before, after = (Standard(*text.split(":")) for text in (old, new))
            self.assertEqual(stricter(after, before), expected, (old, new))
