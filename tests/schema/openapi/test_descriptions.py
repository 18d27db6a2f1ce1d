"""Descriptions of types and fields: presence, form and sharing."""

from __future__ import annotations

import re
from collections.abc import Iterator

import orjson
from twisted.trial.unittest import SynchronousTestCase

from orchtw.naming.naming import Naming
from orchtw.schema import declarations
from orchtw.schema.catalogue import Catalogue
from orchtw.schema.codec.codecs import Codecs
from orchtw.schema.openapi import descriptions
from orchtw.schema.openapi.descriptions import Descriptions
from orchtw.schema.openapi.published import Published

API = "orch.io.api"
META = "orch.io.apimachinery.pkg.apis.meta.v1"

FOREIGN_NAMES = re.compile(r"kube|k8s", re.IGNORECASE)
NEUTRAL_NAMES = re.compile(r"orch", re.IGNORECASE)
SENTENCES = re.compile(r"\A[A-Z0-9].*\.\Z", re.DOTALL)


def named() -> Iterator[tuple[str, str]]:
    """Every message ("" as field) and every field that has a key of its own or stands for its message."""
    for file in declarations.files():
        for message in file.messages:
            yield message.full_name, ""
            for field in message.fields():
                if not field.options.inline:
                    yield message.full_name, field.name


def all_texts(vocabulary: str) -> Iterator[tuple[str, str]]:
    """Where a text stands → what is published there, in all versions of all kinds."""
    catalogue = Catalogue.load(Naming.of(vocabulary))
    document = orjson.loads(Published(Codecs(catalogue).schemas, catalogue.resources).v2.json.body)
    for name, schema in document["definitions"].items():
        yield name, schema["description"]
        for key, field in schema.get("properties", {}).items():
            yield f"{name}.{key}", field["description"]


class CoverageTests(SynchronousTestCase):
    def test_everything_has_a_text(self) -> None:
        """No type and no field of the API is described by its name alone."""
        texts = Descriptions(Naming.orch())
        self.assertEqual([each for each in named() if not texts.of_field(*each)], [])


class StyleTests(SynchronousTestCase):
    def test_sentences(self) -> None:
        """Descriptions are whole sentences with single spaces, without remarks to developers."""
        for where, text in all_texts("orch"):
            self.assertRegex(text, SENTENCES, where)
            self.assertNotRegex(text, r"\s\s|\n|TODO|FIXME|\.\.$", where)

    def test_names_are_those_of_the_vocabulary(self) -> None:
        """The sources are neutral; under another vocabulary no neutral name is left (reference OPENAPI-15)."""
        for where, text in all_texts("orch"):
            self.assertNotRegex(text, FOREIGN_NAMES, where)
        for where, text in all_texts("kubernetes"):
            self.assertNotRegex(text, NEUTRAL_NAMES, where)


class SiblingTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.texts = Descriptions(Naming.orch())

    def test_versions_share(self) -> None:
        """A version without a text has that of another one of its group."""
        main = self.texts.of_field(f"{API}.apps.v1.DeploymentSpec", "paused")
        self.assertIn("rollout is paused", main)
        for package in ("apps.v1beta1", "apps.v1beta2", "extensions.v1beta1"):
            self.assertEqual(self.texts.of_field(f"{API}.{package}.DeploymentSpec", "paused"), main)
        eviction = self.texts.of_message(f"{API}.policy.v1.Eviction")
        self.assertEqual(self.texts.of_message(f"{API}.policy.v1beta1.Eviction"), eviction)

    def test_own_text_comes_first(self) -> None:
        """A version that differs says so itself: its default, or a field of its own."""
        field = ("RollingUpdateDeployment", "maxSurge")
        self.assertIn("Default: 25%.", self.texts.of_field(f"{API}.apps.v1.{field[0]}", field[1]))
        self.assertIn("Default: 1.", self.texts.of_field(f"{API}.extensions.v1beta1.{field[0]}", field[1]))
        stable = self.texts.of_field(f"{API}.policy.v1.PodDisruptionBudgetSpec", "selector")
        self.assertIn("an absent one matches no pods", stable)
        self.assertIn("unlike", self.texts.of_field(f"{API}.policy.v1beta1.PodDisruptionBudgetSpec", "selector"))

    def test_newest_sibling_counts(self) -> None:
        """The stable versions come before the others, and the later before the earlier."""
        newest = self.texts.of_field(f"{API}.autoscaling.v2.HorizontalPodAutoscalerSpec", "minReplicas")
        self.assertEqual(
            self.texts.of_field(f"{API}.autoscaling.v2beta1.HorizontalPodAutoscalerSpec", "minReplicas"), newest
        )
        older = self.texts.of_field(f"{API}.autoscaling.v1.ObjectMetricSource", "targetValue")
        self.assertEqual(self.texts.of_field(f"{API}.autoscaling.v2beta1.ObjectMetricSource", "targetValue"), older)

    def test_unknown(self) -> None:
        """Undescribed fields have no text."""
        self.assertEqual(self.texts.of_message(f"{API}.apps.v1.Nothing"), "")
        self.assertEqual(self.texts.of_field(f"{META}.ObjectMeta", "nothing"), "")
        self.assertEqual(self.texts.of_message("nothing"), "")


class VocabularyTests(SynchronousTestCase):
    def test_names_are_translated(self) -> None:
        """Label keys inside a text are those that the server knows."""
        key = (f"{API}.core.v1.TopologySpreadConstraint", "topologyKey")
        self.assertIn("such as topology.orch.io/zone.", Descriptions(Naming.orch()).of_field(*key))
        self.assertIn("such as topology.kubernetes.io/zone.", Descriptions(Naming.kubernetes()).of_field(*key))


class LoadingTests(SynchronousTestCase):
    def test_texts_are_read_when_a_document_is_made(self) -> None:
        """A server that nobody asks for documents never reads the file."""
        self.patch(descriptions, "FILE", "not there")
        catalogue = Catalogue.load(Naming.orch())
        server = Published(Codecs(catalogue).schemas, catalogue.resources)
        self.assertIn("apis/apps/v1", list(server.v3_paths))
        with self.assertRaises(FileNotFoundError):
            _ = server.v2
