"""Wire formats of watches on served resources: one per resource and format, so that watchers share frames."""

from __future__ import annotations

from typing import Any

import orjson

from orchtw.errors import StatusError
from orchtw.registry.target import Target
from orchtw.schema.codec.codec import Codec
from orchtw.schema.codec.codecs import Codecs
from orchtw.schema.codec.splice import set_json_version, set_protobuf_version
from orchtw.watch.frames import JsonWire, ProtobufWire, Wire


class Wires:
    """Makes wires on first use and keeps them with their targets."""

    def __init__(self, codecs: Codecs) -> None:
        self._status = codecs.kind("v1", "Status")
        self._annotation = codecs.catalogue.naming.initial_events_annotation

    def plain(self, target: Target, form: str) -> Wire:
        """Return the wire of whole objects in `form`, "json" or "protobuf"."""
        wire: Wire | None = target.kept.get((Wires, form))
        if wire is None:
            wire = target.kept[Wires, form] = self._make(target, form)
        return wire

    def _make(self, target: Target, form: str) -> Wire:
        codec = target.codec

        def bookmark_tail(revision: int, ends_state: bool) -> bytes:
            return orjson.dumps(self._bookmark(codec, revision, ends_state))[len(codec.type_prefix) :]

        if form == "json":
            return JsonWire(codec.type_prefix, target.listed_json, set_json_version, bookmark_tail, target.forms)
        with_message = codec.with_message
        assert with_message is not None

        def bookmark_raw(revision: int, ends_state: bool) -> bytes:
            return with_message.encode_protobuf(self._bookmark(codec, revision, ends_state))

        return ProtobufWire(
            codec.api_version, codec.kind, target.protobuf, set_protobuf_version, bookmark_raw, self._status_raw
        )

    def _status_raw(self, error: StatusError) -> bytes:
        return self._status.encode_protobuf(self._status.normalise(error.to_status()))

    def _bookmark(self, codec: Codec, revision: int, ends_state: bool) -> dict[str, Any]:
        """Return the object of a bookmark: nothing but a resourceVersion, and the annotation (reference WATCH-13)."""
        meta: dict[str, Any] = {"resourceVersion": str(revision)}
        if ends_state:
            meta["annotations"] = {self._annotation: "true"}
        return codec.normalise({"metadata": meta})
