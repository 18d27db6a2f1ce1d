"""Switching APIs on and off."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from orchtw.errors import ConfigError
from orchtw.naming.naming import Naming
from orchtw.rules.runtime_config import enabled, level
from orchtw.schema.additions import RELEASE_1_24
from orchtw.schema.catalogue import Catalogue

CATALOGUE = Catalogue.load(Naming.orch(), RELEASE_1_24)
INTERNAL = "internal.apiserver.orch.io/v1alpha1"


def versions(*settings: tuple[str, str]) -> set[str]:
    """The group versions that serve anything."""
    return {resource.api_version for resource in enabled(CATALOGUE, settings)}


class EnabledTests(SynchronousTestCase):
    def problems(self, *settings: tuple[str, str]) -> tuple[str, ...]:
        """Return the problems with the settings."""
        error: ConfigError = self.assertRaises(ConfigError, enabled, CATALOGUE, settings)
        return error.problems

    def test_default(self) -> None:
        """GA and beta versions are on, alpha ones off (reference VER-1)."""
        self.assertEqual(versions(), {each.api_version for each in CATALOGUE.resources} - {INTERNAL})

    def test_version(self) -> None:
        """A version can be switched off and on by its name, the core one as api/v1 (reference VER-2, VER-3)."""
        self.assertEqual(versions() - versions(("batch/v1", "false"), ("api/v1", "false")), {"batch/v1", "v1"})
        self.assertIn(INTERNAL, versions((INTERNAL, "true")))

    def test_level(self) -> None:
        """A level switches every version of it (reference VER-2)."""
        self.assertEqual({level(each) for each in versions(("api/ga", "false"))}, {"beta"})
        self.assertIn(INTERNAL, versions(("api/alpha", "true")))

    def test_specific_wins(self) -> None:
        """The most specific key counts, whatever the order (reference VER-2)."""
        for settings in (
            [("api/all", "false"), ("api/beta", "true"), ("batch/v1beta1", "false"), ("apps/v1/deployments", "true")],
            [("apps/v1/deployments", "true"), ("batch/v1beta1", "false"), ("api/beta", "true"), ("api/all", "false")],
        ):
            found = enabled(CATALOGUE, settings)
            ga = [each.qualified for each in found if level(each.version) == "ga"]
            self.assertEqual(ga, ["deployments.apps"])
            self.assertIn("autoscaling/v2beta2", {each.api_version for each in found})
            self.assertNotIn("batch/v1beta1", {each.api_version for each in found})

    def test_resource(self) -> None:
        """One resource of a version can be switched off (reference VER-2)."""
        before, after = enabled(CATALOGUE, ()), enabled(CATALOGUE, [("apps/v1/daemonsets", "false")])
        self.assertEqual([each.qualified for each in before if each not in after], ["daemonsets.apps"])
        for key in ("v1/pods", "api/v1/pods"):
            after = enabled(CATALOGUE, [(key, "false")])
            self.assertEqual([each.qualified for each in before if each not in after], ["pods"])
        self.assertIn("contradictory", self.problems(("v1/pods", "true"), ("api/v1/pods", "false"))[0])

    def test_refusals(self) -> None:
        """Keys that name nothing and contradictions end the start, all together (reference VER-2)."""
        self.assertEqual(
            self.problems(
                ("nope/v1", "true"), ("api/legacy", "true"), ("batch/v9", "true"), ("apps/v1/pods", "true"),
                ("batch", "true"), ("batch/v1", "x"), ("apps/v1", "true"), ("apps/v1", "false"),
            ),
            (
                "--runtime-config: invalid value of batch/v1=x: must be true or false",
                "--runtime-config: contradictory values of apps/v1",
                "--runtime-config: unknown api groups nope",
                "--runtime-config: unknown api groups api/legacy",
                "--runtime-config: unknown api version batch/v9",
                "--runtime-config: unknown api resource apps/v1/pods",
                "--runtime-config: invalid key batch",
            ),
        )  # fmt: skip
        self.assertEqual(
            self.problems(("api/all", "false")), ("--runtime-config: invalid key with only api/all=false",)
        )

    def test_sent_only(self) -> None:
        """A version without paths, only sent to other servers, may be named without effect (reference PLUG-50)."""
        for value in ("true", "false"):
            found = enabled(CATALOGUE, [("imagepolicy.orch.io/v1alpha1", value)])
            self.assertEqual(found, enabled(CATALOGUE, []))
        self.assertEqual(len(self.problems(("imagepolicy.orch.io/v1", "true"))), 1)

    def test_vocabulary(self) -> None:
        """Keys are in the vocabulary that is served (reference VER-3)."""
        catalogue = Catalogue.load(Naming.kubernetes())
        found = enabled(catalogue, [("storage.k8s.io/v1", "false")])
        self.assertNotIn("storage.k8s.io/v1", {each.api_version for each in found})
