"""Objects, lists and Status as the bytes of the negotiated format.

Plain objects come from the encodings that the cache keeps; only YAML, indented JSON and transformed
answers (Table, PartialObjectMetadata) are made for the request.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import attrs
import orjson

from orchtw.errors import StatusError
from orchtw.registry.target import Target
from orchtw.request import Response
from orchtw.rules.negotiation import Negotiated, check_transform
from orchtw.schema.codec import Codecs
from orchtw.schema.envelope import ENVELOPE_END, envelope_head, wrap
from orchtw.schema.wire import delimited, varint
from orchtw.schema.yaml_codec import encode_yaml
from orchtw.verbs.pieces import json_pieces, protobuf_pieces, repeated_length
from orchtw.verbs.transforms import Transforms
from orchtw.verbs.wires import Wires
from orchtw.watch.entry import Entry
from orchtw.watch.frames import Wire

Object = dict[str, Any]
Params = Mapping[str, list[str]]
ITEMS_TAG = b"\x12"  # field 2, length-delimited: `items` of every list message
METADATA_FIELD = 1  # `metadata` of every list message
LIST_META = "orch.io.apimachinery.pkg.apis.meta.v1.ListMeta"


class Representations:
    """Makes responses; one per process, shared by all verbs."""

    def __init__(self, codecs: Codecs, transforms: Transforms) -> None:
        self._codecs = codecs
        self._wires = Wires(codecs)
        self._transforms = transforms
        self._list_meta = codecs.message(LIST_META)

    def entry(
        self, target: Target, entry: Entry, accept: Negotiated, code: int = 200, *, params: Params
    ) -> Response:
        """One stored object, as it is or as the transform asked for; `params` may say more of a Table."""
        if accept.transform is not None:
            check_transform(accept, target.resource.kind, is_list=False)
            return self.obj(self._transforms.one(target, entry, accept, params), accept, code)
        codec = target.codec
        if accept.format == "protobuf":
            body = wrap(codec.api_version, codec.kind, target.protobuf(entry))
        elif accept.format == "json" and not accept.pretty:
            body = codec.type_prefix + target.json_tail(entry)
        else:
            body = _text(target.load(entry), accept)
        return Response(code=code, content_type=accept.content_type, body=body)

    def obj(self, obj: Object, accept: Negotiated, code: int = 200) -> Response:
        """Any canonical object that is not in the cache."""
        if accept.format == "protobuf":
            api_version, kind = obj["apiVersion"], obj["kind"]
            body = wrap(api_version, kind, self._codecs.kind(api_version, kind).encode_protobuf(obj))
        else:
            body = _text(obj, accept)
        return Response(code=code, content_type=accept.content_type, body=body)

    def untransformed(self, accept: Negotiated) -> Negotiated:
        """The same format for an answer that is no object of the resource, such as a Status."""
        return attrs.evolve(accept, transform=None, transform_version="") if accept.transform else accept

    def refusal(self, error: StatusError, accept: Negotiated) -> Response:
        """The Status of a refusal, with Retry-After where it carries one."""
        status = self._codecs.kind("v1", "Status").normalise(error.to_status())
        response = self.obj(status, accept, error.code)
        if error.retry_after_s:
            response.headers.append(("Retry-After", str(error.retry_after_s)))
        if error.code == 403:
            response.headers.append(("X-Content-Type-Options", "nosniff"))
        return response

    def list(
        self, target: Target, entries: Sequence[Entry], meta: Object, accept: Negotiated, *, params: Params
    ) -> Response:
        """A collection: `meta` is its ListMeta in canonical form."""
        if accept.transform is not None:
            check_transform(accept, target.resource.list_kind or "", is_list=True)
            if accept.transform == "Table" and accept.format == "json" and not accept.pretty:
                body = self._transforms.table_json(target, entries, meta, accept.transform_version, params)
                return Response(content_type=accept.content_type, body=body)
            return self.obj(self._transforms.many(target, entries, meta, accept, params), accept)
        if accept.format == "protobuf":
            return self._protobuf_list(target, entries, meta, accept)
        if accept.format == "json" and not accept.pretty:
            return self._json_list(target, entries, meta, accept)
        items = [_item(target, entry) for entry in entries]
        return self.obj({**_list_head(target, meta), "items": items}, accept)

    def wire(self, target: Target, accept: Negotiated, *, params: Params) -> Wire:
        """The form of a watch's events."""
        if accept.transform is not None:
            check_transform(accept, target.resource.kind, is_list=False)
            return self._transforms.wire(target, accept, params)
        return self._wires.plain(target, accept.format)

    @staticmethod
    def _json_list(target: Target, entries: Sequence[Entry], meta: Object, accept: Negotiated) -> Response:
        head = orjson.dumps(_list_head(target, meta))[:-1] + b',"items":['
        tails = list(map(target.json_tail, entries))
        pieces = json_pieces(head, tails, b"]}", b"{")
        return Response(content_type=accept.content_type, body=pieces, length=pieces.length)

    def _protobuf_list(self, target: Target, entries: Sequence[Entry], meta: Object, accept: Negotiated) -> Response:
        messages = list(map(target.protobuf, entries))
        list_meta = self._list_meta.encode_protobuf(meta)
        list_meta = delimited(METADATA_FIELD, list_meta)
        size = len(list_meta) + repeated_length(messages, ITEMS_TAG)
        head = envelope_head(target.resource.api_version, target.resource.list_kind or "")
        head += varint(size) + list_meta
        pieces = protobuf_pieces(head, messages, ENVELOPE_END, ITEMS_TAG)
        return Response(content_type=accept.content_type, body=pieces, length=pieces.length)


def _item(target: Target, entry: Entry) -> Object:
    """An object as list items show it: without kind and apiVersion (supplement A1)."""
    obj = target.load(entry)
    del obj["kind"], obj["apiVersion"]
    return obj


def _list_head(target: Target, meta: Object) -> Object:
    return {"kind": target.resource.list_kind, "apiVersion": target.resource.api_version, "metadata": meta}


def _text(obj: Object, accept: Negotiated) -> bytes:
    if accept.format == "yaml":
        return encode_yaml(obj)
    if accept.pretty:
        return orjson.dumps(obj, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
    return orjson.dumps(obj)
