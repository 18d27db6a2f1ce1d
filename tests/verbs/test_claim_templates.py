"""Claims in StatefulSets, which are objects within an object (reference KIND-60)."""

from __future__ import annotations

from typing import ClassVar

import orjson

from orchtw.naming.naming import Naming
from orchtw.schema.codec.envelope import wrap
from orchtw.wire.objects import Object
from tests.verbs.served import APPLY, MERGE, ServedCase

SETS = "/apis/apps/v1/namespaces/default/statefulsets"
CLAIM: Object = {"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"],
                 "resources": {"requests": {"storage": "1Gi"}}}}  # fmt: skip
TYPE = ("PersistentVolumeClaim", "v1")


def stateful_set(name: str, claim: Object) -> Object:
    """A set whose pods get a claim each."""
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"serviceName": "s", "selector": {"matchLabels": {"a": "b"}}, "template": template}
    obj = {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": name}}
    return {**obj, "spec": {**spec, "volumeClaimTemplates": [claim]}}


class ClaimTemplateCase(ServedCase):
    """Tests that hold in both vocabularies."""

    vocabulary: ClassVar[str]

    def assertTyped(self, obj: Object) -> None:
        """The claim says its kind and apiVersion, first, as every object does."""
        (claim,) = obj["spec"]["volumeClaimTemplates"]
        self.assertEqual((claim["kind"], claim["apiVersion"]), TYPE)
        self.assertEqual(list(claim), ["kind", "apiVersion", "metadata", "spec", "status"])

    def test_answers(self) -> None:
        """kind and apiVersion are answered whether or not they are sent, and whatever is: by create, get and list."""
        wrong = {"kind": "Pod", "apiVersion": "v2", **CLAIM}
        for name, claim in (("a", CLAIM), ("b", {"kind": TYPE[0], "apiVersion": "v1", **CLAIM}), ("c", wrong)):
            made = self.done("POST", SETS, stateful_set(name, claim))
            self.assertTyped(made)
            self.assertEqual(self.done("GET", f"{SETS}/{name}"), made)
        for each in self.done("GET", SETS)["items"]:
            self.assertTyped(each)

    def test_writes(self) -> None:
        """They are not a change: an update, a patch and an apply without them are accepted and show them."""
        made = self.done("POST", SETS, stateful_set("a", CLAIM))
        self.assertEqual(self.done("PUT", f"{SETS}/a", {**made, "spec": {**made["spec"], "volumeClaimTemplates": [
            {key: value for key, value in made["spec"]["volumeClaimTemplates"][0].items() if key not in
             ("kind", "apiVersion")}]}}), made)  # fmt: skip
        patch = orjson.dumps({"spec": {"volumeClaimTemplates": [CLAIM]}})
        self.assertTyped(self.done("PATCH", f"{SETS}/a", patch, MERGE))
        applied = orjson.dumps(stateful_set("a", CLAIM))
        self.assertTyped(self.done("PATCH", f"{SETS}/a?fieldManager=m&force=true", applied, APPLY))

    def test_protobuf(self) -> None:
        """The Protobuf form has no place for them; what was written in it shows them in JSON."""
        codec = self.server.instance.resources.codecs.kind("apps/v1", "StatefulSet")
        raw = codec.encode_protobuf(codec.normalise(stateful_set("a", CLAIM)))
        media_type = Naming.of(self.vocabulary).protobuf_media_type
        body = wrap("apps/v1", "StatefulSet", raw)
        self.assertTyped(self.done("POST", SETS, body, {"content-type": media_type}))


class OrchVocabularyTests(ClaimTemplateCase):
    vocabulary = "orch"
    more: ClassVar = {"vocabulary": vocabulary}


class KubernetesVocabularyTests(ClaimTemplateCase):
    vocabulary = "kubernetes"
    more: ClassVar = {"vocabulary": vocabulary}


del ClaimTemplateCase
