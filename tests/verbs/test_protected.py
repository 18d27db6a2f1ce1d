"""Objects that their kind protects from a DELETE by name (reference DEL-20)."""

from __future__ import annotations

from typing import ClassVar

from orchtw.naming.naming import Naming
from orchtw.registry.groups.scheduling.priority_classes import SYSTEM_PRIORITIES
from tests.verbs.served import ServedCase


class SystemPriorityCase(ServedCase):
    """Tests that hold in both vocabularies."""

    vocabulary: ClassVar[str]

    def setUp(self) -> None:
        super().setUp()
        self.group = Naming.of(self.vocabulary).group("scheduling.orch.io")
        self.classes = f"/apis/{self.group}/v1/priorityclasses"

    def test_by_name(self) -> None:
        """A DELETE of a system's class is a 403, dry run or not, and whether or not it is there."""
        why = "this is a system priority class and cannot be deleted"
        for name in SYSTEM_PRIORITIES:
            for query in ("", "?dryRun=All"):
                answer = self.send("DELETE", f"{self.classes}/{name}{query}")
                self.assertEqual((answer.code, answer.json["reason"]), (403, "Forbidden"))
                self.assertEqual(answer.json["message"], f'priorityclasses.{self.group} "{name}" is forbidden: {why}')
            self.assertEqual(self.code("GET", f"{self.classes}/{name}"), 200)
        self.done("DELETE", self.classes)
        self.assertEqual(self.code("DELETE", f"{self.classes}/system-node-critical"), 403)

    def test_in_a_collection(self) -> None:
        """A DELETE on the collection takes them along."""
        names = {each["metadata"]["name"] for each in self.done("DELETE", self.classes)["items"]}
        self.assertEqual(names, set(SYSTEM_PRIORITIES))

    def test_others(self) -> None:
        """Classes of others go as ever."""
        self.done("POST", self.classes, {"metadata": {"name": "mine"}, "value": 1})
        self.done("DELETE", f"{self.classes}/mine")


class OrchVocabularyTests(SystemPriorityCase):
    vocabulary = "orch"
    more: ClassVar = {"vocabulary": vocabulary}


class KubernetesVocabularyTests(SystemPriorityCase):
    vocabulary = "kubernetes"
    more: ClassVar = {"vocabulary": vocabulary}


del SystemPriorityCase
