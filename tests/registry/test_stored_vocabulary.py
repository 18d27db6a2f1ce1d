"""The vocabulary of stored objects, told by their values (reference VOC-8)."""

from __future__ import annotations

from functools import cache
from typing import Any

import orjson
from twisted.trial.unittest import SynchronousTestCase

from orchtw.naming.naming import Naming
from orchtw.registry.rewriting import homes
from orchtw.registry.stored_vocabulary import NAMESPACES, StoredVocabulary
from orchtw.registry.targets import storage_prefix
from orchtw.schema.catalogue import Catalogue
from orchtw.schema.codec.codecs import Codecs
from tests.vocabularies import in_both


@cache
def codecs(vocabulary: str) -> Codecs:
    """Return the catalogue, made once."""
    return Codecs(Catalogue.load(Naming.of(vocabulary)))


@in_both
class StoredVocabularyTests(SynchronousTestCase):
    vocabulary = "orch"

    def setUp(self) -> None:
        self.naming = Naming.of(self.vocabulary)
        self.told = StoredVocabulary()

    def values(self, api_version: str, kind: str, **members: Any) -> list[bytes]:
        """An object in both forms in which it may lie in a store."""
        obj = {"apiVersion": api_version, "kind": kind, "metadata": {"name": "x"}, **members}
        codec = codecs(self.vocabulary).kind(api_version, kind)
        return [codec.encode_envelope(codec.normalise(obj)), orjson.dumps(obj)]

    def test_every_kind(self) -> None:
        """Each kind whose group has two names tells by it, in either form; those of other groups do not tell."""
        telling = set()
        for each in homes(codecs(self.vocabulary).catalogue):
            prefix = storage_prefix(each, self.naming)
            neutral = self.naming.neutral(each.group)
            differs = Naming.kubernetes().group(neutral) != neutral
            if prefix == NAMESPACES:
                continue
            telling |= {prefix} if differs else set()
            for value in self.values(each.api_version, each.kind):
                found = self.told.vocabulary(f"{prefix}x", value)
                self.assertEqual(found, self.vocabulary if differs else "", prefix)
        self.assertEqual({*self.told.prefixes}, telling | {NAMESPACES})
        self.assertGreater(len(telling), 20)

    def test_namespaces(self) -> None:
        """A namespace tells by its finalizer, whatever its name and labels; one that ends does not."""
        labels = {"orch.io/metadata.name": "x", "kubernetes.io/metadata.name": "x"}
        for finalizers, found in (
            ([self.naming.namespace_finalizer], self.vocabulary),
            (["example.com/mine", self.naming.namespace_finalizer], self.vocabulary),
            (["example.com/mine"], ""),
            ([], ""),
            (["orch", "kubernetes"], ""),
        ):
            members = {"metadata": {"name": "kube-system", "labels": labels}, "spec": {"finalizers": finalizers}}
            for value in self.values("v1", "Namespace", **members):
                self.assertEqual(self.told.vocabulary(f"{NAMESPACES}kube-system", value), found, finalizers)

    def test_custom_objects(self) -> None:
        """An object of somebody's own tells nothing, though its group has a name like those of the API."""
        value = orjson.dumps({"apiVersion": "rbac.authorization.orch.io/v1", "kind": "W", "metadata": {"name": "x"}})
        for key in ("/registry/rbac.authorization.orch.io/widgets/x", "/registry/example.com/widgets/x"):
            self.assertEqual(self.told.vocabulary(key, value), "")

    def test_what_cannot_be_read(self) -> None:
        """Damaged and sealed values raise ValueError, whatever they are; another JSON value tells nothing."""
        for key in (f"{NAMESPACES}x", "/registry/rbac.authorization.orch.io/clusterroles/x"):
            for value in (b"", b"k8s", b"k8s\0\xff\xff", b"{", b"k8s:enc:aesgcm:v1:k:\0\1"):
                self.assertRaises(ValueError, self.told.vocabulary, key, value)
            for value in (b"{}", b'{"apiVersion": 1, "spec": []}', b'{"spec": {"finalizers": {}}, "apiVersion": []}'):
                self.assertEqual(self.told.vocabulary(key, value), "")
