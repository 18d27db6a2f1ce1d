"""Vocabulary of stored objects, recognised by names that only a server of that vocabulary writes.

Keys are the same in both vocabularies. A value names its group, which differs for many groups; a namespace has the
finalizer of its vocabulary, and validation keeps clients from adding the other one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from orchtw.errors import StatusError
from orchtw.naming.naming import Naming
from orchtw.registry.rewriting import homes
from orchtw.registry.targets import REGISTRY, storage_prefix
from orchtw.schema.catalogue import Catalogue
from orchtw.schema.codec.codecs import Codecs
from orchtw.schema.codec.envelope import unwrap
from orchtw.schema.codec.json_text import load_json
from orchtw.wire.objects import Object

NAMESPACES = f"{REGISTRY}namespaces/"


class StoredVocabulary:
    """Recognition of the vocabulary of single values."""

    def __init__(self) -> None:
        neutral = Naming.orch()
        catalogue = Catalogue.load(neutral)
        found = {storage_prefix(each, neutral): _names(each.group) for each in homes(catalogue)}
        self._groups = {prefix: names for prefix, names in found.items() if len(names) > 1}
        self._namespaces = Codecs(catalogue).kind("v1", "Namespace")
        self._finalizers = {each.namespace_finalizer: each.vocabulary for each in (neutral, Naming.kubernetes())}

    @property
    def prefixes(self) -> Sequence[str]:
        """Prefixes of the keys whose values tell."""
        return (*self._groups, NAMESPACES)

    def vocabulary(self, key: str, value: bytes) -> str:
        """Return the vocabulary of an object; empty if it does not tell. Raises ValueError if it cannot be read."""
        try:
            if key.startswith(NAMESPACES):
                return self._of_namespace(value)
            group = _api_version(value).rpartition("/")[0]
        except StatusError as problem:
            raise ValueError(problem.message) from None
        names = next((names for prefix, names in self._groups.items() if key.startswith(prefix)), {})
        return names.get(group, "")

    def _of_namespace(self, value: bytes) -> str:
        is_json = value[:1] == b"{"
        obj: Object = load_json(value) if is_json else self._namespaces.decode_protobuf(unwrap(value)[2])
        spec = obj.get("spec")
        finalizers = spec.get("finalizers") if isinstance(spec, dict) else None
        if not isinstance(finalizers, list):
            return ""
        known = [name for each, name in self._finalizers.items() if each in finalizers]
        return known[0] if len(known) == 1 else ""


def _names(group: str) -> Mapping[str, str]:
    """Return the names of a neutral group, each with its vocabulary; a single one if it is the same in both."""
    return {each.group(group): each.vocabulary for each in (Naming.orch(), Naming.kubernetes())}


def _api_version(value: bytes) -> str:
    """Return the apiVersion of a value in either form. Raises StatusError."""
    if value[:1] != b"{":
        return unwrap(value)[0]
    obj: object = load_json(value)
    found = obj.get("apiVersion") if isinstance(obj, dict) else None
    return found if isinstance(found, str) else ""
