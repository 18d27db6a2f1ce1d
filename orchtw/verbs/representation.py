"""Objects, lists and Status as the bytes of the negotiated format.

Plain objects come from the encodings that the cache keeps; only YAML, indented JSON and transformed
answers (Table, PartialObjectMetadata) are made for the request.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson

from orchtw.errors import StatusError
from orchtw.naming import Naming
from orchtw.registry.target import Target
from orchtw.request import Response
from orchtw.rules.negotiation import Negotiated
from orchtw.schema.codec import Codecs
from orchtw.schema.envelope import PREFIX, wrap
from orchtw.schema.yaml_codec import dump_yaml
from orchtw.verbs.pieces import json_pieces, protobuf_pieces, repeated_length
from orchtw.watch.frames import type_meta, varint
from orchtw.watch.entry import Entry

Object = dict[str, Any]
ITEMS_TAG = b"\x12"  # field 2, length-delimited: `items` of every list message
RAW_TAG = b"\x12"  # field 2 of runtime.Unknown
NO_ENCODING = b"\x1a\x00\x22\x00"  # contentEncoding and contentType of runtime.Unknown, both empty


class Representations:
    """Makes responses; one per process, shared by all verbs."""

    def __init__(self, codecs: Codecs, naming: Naming) -> None:
        self._codecs = codecs
        self._naming = naming
        self._list_meta = codecs.message("orch.io.apimachinery.pkg.apis.meta.v1.ListMeta")
        self._media_types = {
            "json": "application/json",
            "yaml": "application/yaml",
            "protobuf": naming.protobuf_media_type,
        }

    def media_type(self, accept: Negotiated) -> str:
        """The Content-Type of an answer in this format."""
        return self._media_types[accept.format]

    def entry(self, target: Target, entry: Entry, accept: Negotiated, code: int = 200) -> Response:
        """One stored object, as it is."""
        if accept.format == "protobuf":
            codec = target.codec
            body = wrap(codec.api_version, codec.kind, target.protobuf(entry))
        elif accept.format == "json" and not accept.pretty:
            body = target.codec.type_prefix + target.json_tail(entry)
        else:
            body = self._text(target.load(entry), accept)
        return Response(code=code, content_type=self._media_types[accept.format], body=body)

    def obj(self, obj: Object, accept: Negotiated, code: int = 200) -> Response:
        """Any canonical object of a known kind that is not in the cache."""
        if accept.format == "protobuf":
            api_version, kind = obj["apiVersion"], obj["kind"]
            body = wrap(api_version, kind, self._codecs.kind(api_version, kind).encode_protobuf(obj))
        else:
            body = self._text(obj, accept)
        return Response(code=code, content_type=self._media_types[accept.format], body=body)

    def refusal(self, error: StatusError, accept: Negotiated) -> Response:
        """The Status of a refusal, with Retry-After where it carries one."""
        response = self.obj(error.to_status(), accept, error.code)
        if error.retry_after_s:
            response.headers.append(("Retry-After", str(error.retry_after_s)))
        if error.code == 403:
            response.headers.append(("X-Content-Type-Options", "nosniff"))
        return response

    def list(self, target: Target, entries: Sequence[Entry], meta: Object, accept: Negotiated) -> Response:
        """A collection: `meta` is its ListMeta in canonical form."""
        if accept.format == "protobuf":
            return self._protobuf_list(target, entries, meta)
        if accept.format == "json" and not accept.pretty:
            return self._json_list(target, entries, meta)
        items = [self._item(target, entry) for entry in entries]
        return self.obj({**self._list_head(target, meta), "items": items}, accept)

    @staticmethod
    def _item(target: Target, entry: Entry) -> Object:
        """An object as list items show it: without kind and apiVersion (supplement A1)."""
        obj = target.load(entry)
        del obj["kind"], obj["apiVersion"]
        return obj

    @staticmethod
    def _list_head(target: Target, meta: Object) -> Object:
        return {"kind": target.resource.list_kind, "apiVersion": target.resource.api_version, "metadata": meta}

    def _json_list(self, target: Target, entries: Sequence[Entry], meta: Object) -> Response:
        head = orjson.dumps(self._list_head(target, meta))[:-1] + b',"items":['
        tails = list(map(target.json_tail, entries))
        pieces = json_pieces(head, tails, b"]}", b"{")
        return Response(content_type=self._media_types["json"], body=pieces, length=pieces.length)

    def _protobuf_list(self, target: Target, entries: Sequence[Entry], meta: Object) -> Response:
        messages = list(map(target.protobuf, entries))
        list_meta = self._list_meta.encode_protobuf(meta)
        list_meta = b"\x0a" + varint(len(list_meta)) + list_meta
        size = len(list_meta) + repeated_length(messages, ITEMS_TAG)
        list_type = type_meta(target.resource.api_version, target.resource.list_kind or "")
        head = PREFIX + list_type + RAW_TAG + varint(size) + list_meta
        pieces = protobuf_pieces(head, messages, NO_ENCODING, ITEMS_TAG)
        return Response(content_type=self._media_types["protobuf"], body=pieces, length=pieces.length)

    @staticmethod
    def _text(obj: Object, accept: Negotiated) -> bytes:
        if accept.format == "yaml":
            return dump_yaml(obj)
        if accept.pretty:
            return orjson.dumps(obj, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
        return orjson.dumps(obj)
