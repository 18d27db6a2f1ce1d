"""The documents of one server as bytes, made on demand and kept.

Those of the release never change and are kept for good. Kinds that are added at run time come and go: they are
rendered one by one, and joined to those of the release.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property

import orjson

from orchtw.schema.catalogue import ResourceType
from orchtw.schema.openapi import v2
from orchtw.schema.openapi.documents import Part, Pieces, parts
from orchtw.schema.openapi.features import EVERYTHING, Features
from orchtw.schema.openapi.foreign import Foreign, beside
from orchtw.schema.openapi.forms import DocumentForm, Encoded, KeptForms
from orchtw.schema.openapi.protobuf import v2 as v2_protobuf
from orchtw.schema.openapi.release import Release
from orchtw.schema.openapi.shares import KindShare, Share, Step
from orchtw.schema.schemas import Schemas


class Published:
    """Published documents of the `enabled` resources, under the names of the schemas' vocabulary.

    Only bytes are kept, and `schemas` as they are now: a change of resources makes another `Published`, which takes
    over the unchanged parts of the one `before`.
    """

    _release: Release

    def __init__(
        self,
        schemas: Schemas,
        enabled: Iterable[ResourceType],
        before: Published | None = None,
        features: Features = EVERYTHING,
    ) -> None:
        self._schemas = schemas.copy()
        every = tuple(enabled)
        release = tuple(each for each in every if each.protobuf)
        known: Release | None = None if before is None else before._release
        self._release = known if known and known.enabled == release else Release(self._schemas, release, features)
        self._parts = {part.path: part for part in parts(self._schemas, every, features)}
        taken: Mapping[str, Sequence[Share]] = {}
        if before is not None and before._release is self._release:
            taken = before._shares
        self._shares: dict[str, Sequence[Share]] = {
            path: self._shares_of(part, taken.get(path, ())) for path, part in self._parts.items()
        }
        self._kept = KeptForms[DocumentForm]()

    def _shares_of(self, part: Part, before: Sequence[Share]) -> Sequence[Share]:
        """Return the additions of a part to the release: its index, if it is new, and its added kinds."""
        added = [each for each in part.resources if not each.protobuf]
        known = {each.added[0].message: each for each in before if isinstance(each, KindShare)}
        shares: list[Share] = []
        if part.path not in self._release.parts:
            index = (each for each in before if not isinstance(each, KindShare))
            shares.append(next(index, None) or self._release.index_share(part))
        for resource in added:
            share, schema = known.get(resource.message), self._schemas.struct(resource.message)
            if share is None or not share.is_of(resource, schema):
                share = self._release.kind_share(resource, schema)
            shares.append(share)
        return shares

    @property
    def v3_paths(self) -> Iterable[str]:
        """The paths that have a v3 document, such as "apis/apps/v1"."""
        return self._parts.keys()

    @property
    def v3(self) -> Mapping[str, DocumentForm]:
        """The v3 documents by path, each made on demand."""
        return _V3(self._parts, self._v3_form)

    def v2_steps(self) -> Iterator[Step]:
        """Yield the work to do before the v2 document is available at once."""
        return self._release.second.steps(self._every_share(), self._schemas)

    def v3_steps(self, path: str) -> Iterator[Step]:
        """Yield the work to do before a v3 document is available at once. Raises KeyError for an unknown path."""
        return self._release.third.steps(self._shares[path], self._schemas)

    @cached_property
    def v2(self) -> DocumentForm:
        """The v2 document of this server."""
        return self._release.v2_form(self._every_share(), self._schemas)

    def _every_share(self) -> list[Share]:
        return [share for each in self._shares.values() for share in each]

    def v2_with(self, others: Iterable[Foreign]) -> DocumentForm:
        """Return the v2 document with the parts of other servers that this one does not serve."""
        release, schemas = self._release, self._schemas
        own = [release.v2, *(release.second.pieces(share, schemas) for share in self._every_share())]
        taken = {name for each in own for name in each.names}
        _, known = release.v2.documents()
        come: list[Pieces] = []
        for other in others:
            if other.part not in self._parts:
                come.append(beside(other, taken, known, f"{schemas.naming.extension_prefix}group-version-kind"))
                taken |= come[-1].names
        binary = self.v2

        def to_protobuf() -> bytes:
            more = (v2_protobuf.encode_pieces(*each.documents()) for each in come)
            return b"".join((binary.protobuf.body, *more))

        json = Encoded.of(v2.joined([*own, *come], schemas.naming))
        return DocumentForm(json, to_protobuf, v2_protobuf.MEDIA_TYPES, binary.steps)

    def index(self, root: str) -> Encoded:
        """Return the index of the v3 documents, which are served below `root`: the URL of each, with its hash."""
        paths = {path: {"serverRelativeURL": f"{root}/{path}?hash={self.v3_hash(path)}"} for path in self._parts}
        return Encoded.of(orjson.dumps({"paths": paths}))

    def v3_hash(self, path: str) -> str:
        """Return the hash of a v3 document. One with shares of added kinds need not be rendered for it."""
        shares = self._shares[path]
        return self._release.hash_of(path, shares) if shares else self._release.v3(path).json.hash

    def _v3_form(self, path: str) -> DocumentForm:
        shares, release, schemas = self._shares[path], self._release, self._schemas
        if not shares:
            return release.v3(path)
        return self._kept.get(path, lambda: release.v3_form(path, shares, schemas), lambda form: len(form.json.body))


class _V3(Mapping[str, DocumentForm]):
    """Mapping of v3 documents by path, each made on access."""

    def __init__(self, parts_: Mapping[str, Part], make: Callable[[str], DocumentForm]) -> None:
        self._parts = parts_
        self._make = make

    def __getitem__(self, path: str) -> DocumentForm:
        return self._make(path)

    def __iter__(self) -> Iterator[str]:
        return iter(self._parts)

    def __len__(self) -> int:
        return len(self._parts)
