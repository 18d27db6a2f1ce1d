"""Objects, lists and Status as the bytes of the negotiated format.

Plain objects come from the encodings that the cache keeps; only YAML, indented JSON and transformed responses (Table,
PartialObjectMetadata) are made for the request. Work beyond a slice of a turn is done in slices, long private bodies
are made while they are sent, and encodings of large objects are made in a thread.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain

import msgspec
import orjson

from orchtw.errors import StatusError, TooManyRequests
from orchtw.metrics.series import Histogram
from orchtw.registry.offload import INLINE_BYTES, Offload
from orchtw.registry.target import Forms, Target
from orchtw.request import SHORT_BYTES, Response
from orchtw.responses.made_stream import MadeStream, ThreadParts
from orchtw.responses.pieces import (
    Framed,
    Held,
    Items,
    JsonForm,
    PieceForm,
    ProtobufForm,
    items_of,
    parts_of,
)
from orchtw.responses.slices import Steps, begun, in_some_turns, in_turns
from orchtw.responses.text_forms import list_parts, object_parts
from orchtw.responses.transforms import Transforms
from orchtw.responses.watch_wires import Wires
from orchtw.rules.negotiation import Negotiated, check_transform
from orchtw.schema.codec.body import Format
from orchtw.schema.codec.codecs import Codecs
from orchtw.schema.codec.envelope import ENVELOPE_END, envelope_head, wrap
from orchtw.schema.codec.kind_codec import COLD_BYTES
from orchtw.schema.codec.wire import delimited, varint
from orchtw.watch.entry import LARGE_BYTES, Entry, size_at_rest
from orchtw.watch.frames import Wire
from orchtw.watch.turns import ReactorTurns
from orchtw.wire.objects import Object

Params = Mapping[str, list[str]]
ITEMS_TAG = b"\x12"  # field 2, length-delimited: `items` of every list message
LIST_END = b"]}\n"
METADATA_FIELD = 1  # `metadata` of every list message
LIST_META = "orch.io.apimachinery.pkg.apis.meta.v1.ListMeta"
PINNED_ITEMS = 64  # least length of a list that pins its state; a shorter one is sent in a few writes
SCANNED = 128  # objects whose sizes are read in one step
MEASURING_SLICES = 50  # a quarter of a second: a list that takes longer to measure is sent without its length
TEXT_STRIDE = 4  # objects made into YAML or indented JSON between two readings of the clock


class Representations:
    """Ensurer of responses; one per process, shared by all verbs. `sent` returns an event histogram for a kind."""

    def __init__(
        self,
        codecs: Codecs,
        transforms: Transforms,
        turns: ReactorTurns,
        offload: Offload,
        sent: Callable[[str, str, str], Histogram] | None = None,
    ) -> None:
        self._sent = sent
        self._codecs = codecs
        self._offload = offload
        self._turns = turns
        self._wires = Wires(codecs)
        self._transforms = transforms
        self._list_meta = codecs.message(LIST_META)

    async def entry(
        self, target: Target, entry: Entry, accept: Negotiated, code: int = 200, *, params: Params
    ) -> Response:
        """Return one stored object, as it is or transformed; `params` may have options of a Table.

        A large one that must be decoded for it is made in a thread. Raises TooManyRequests (429) if too much waits
        for that.
        """
        if target.forms is not None:
            await target.forms.ensure((entry,))
        size = _work_bytes(target, entry)
        if size > INLINE_BYTES and not _at_hand(target, entry, accept):
            return await self._offload.run(size, partial(self._whole, target, entry, accept, code, params))
        ready = self._encoded(target, entry, accept, code)
        return ready or self.obj(self._decoded(target, entry, accept, params), accept, code)

    def at_hand(self, target: Target, entry: Entry, form: Format) -> bytes | None:
        """Return the body that shows one stored object, if its encoding is in the cache and it is not large."""
        codec = target.codec
        if form == "json" and target.has_json(entry):
            tail = target.json_tail(entry)
            return b"%b%b\n" % (codec.type_prefix, tail) if len(tail) < LARGE_BYTES else None
        if form == "protobuf" and target.has_protobuf(entry):
            raw = target.protobuf(entry)
            head = envelope_head(codec.api_version, codec.kind)
            return b"%b%b%b%b" % (head, varint(len(raw)), raw, ENVELOPE_END) if len(raw) < LARGE_BYTES else None
        return None

    async def written(
        self, target: Target, entry: Entry, accept: Negotiated, code: int = 200, *, params: Params
    ) -> Response:
        """Return an object that this request has written, as `entry`, even if too much waits: the write is done."""
        try:
            return await self.entry(target, entry, accept, code, params=params)
        except TooManyRequests:
            return self._whole(target, entry, accept, code, params)

    def _whole(self, target: Target, entry: Entry, accept: Negotiated, code: int, params: Params) -> Response:
        """Return one stored object in one go."""
        if ready := self._encoded(target, entry, accept, code):
            return ready
        obj = self._decoded(target, entry, accept, params)
        if accept.format == "protobuf":
            return self.obj(obj, accept, code)
        return _shared(code, accept, tuple(object_parts(obj, accept)))

    def _decoded(self, target: Target, entry: Entry, accept: Negotiated, params: Params) -> Object:
        if accept.transform is None:
            return target.load(entry)
        check_transform(accept, target.resource.kind, is_list=False)
        return self._transforms.one(target, entry, accept, params)

    def _encoded(self, target: Target, entry: Entry, accept: Negotiated, code: int) -> Response | None:
        """Return the response from the encodings of the cache, or None if it needs none of them."""
        if accept.transform is not None:
            return None
        codec = target.codec
        if accept.format == "protobuf":
            raw = target.protobuf(entry)
            head = envelope_head(codec.api_version, codec.kind) + varint(len(raw))
            return _shared(code, accept, (head, raw, ENVELOPE_END))
        if accept.format == "json" and not accept.pretty:
            return _shared(code, accept, (codec.type_prefix, target.json_tail(entry), b"\n"))
        return None

    def obj(self, obj: Object, accept: Negotiated, code: int = 200) -> Response:
        """Return any canonical object, which need not be in the cache."""
        if accept.format == "protobuf":
            api_version, kind = obj["apiVersion"], obj["kind"]
            body = wrap(api_version, kind, self._codecs.kind(api_version, kind).encode_protobuf(obj))
            return Response(code=code, content_type=accept.content_type, body=body)
        return self._made(object_parts(obj, accept), accept, code)

    def document(self, obj: Object, accept: Negotiated) -> Response:
        """Return `obj` with the whole body made at once, for responses that are kept."""
        response = self.obj(obj, accept)
        if response.parts is not None:
            response.body, response.parts = b"".join(response.parts), None
        return response

    def _made(self, parts: Iterator[bytes], accept: Negotiated, code: int = 200) -> Response:
        body = begun(self._turns, parts)
        if isinstance(body, bytes):
            return Response(code=code, content_type=accept.content_type, body=body)
        return Response(code=code, content_type=accept.content_type, parts=body)

    def untransformed(self, accept: Negotiated) -> Negotiated:
        """Return the format without a transform, for responses such as a Status."""
        return msgspec.structs.replace(accept, transform=None, transform_version="") if accept.transform else accept

    def refusal(self, error: StatusError, accept: Negotiated) -> Response:
        """Return the Status of an error, with Retry-After where it has one."""
        status = self._codecs.kind("v1", "Status").normalise(error.to_status())
        response = self.obj(status, accept, error.code)
        if error.retry_after_s:
            response.headers.append(("Retry-After", str(error.retry_after_s)))
        if error.code == 403:
            response.headers.append(("X-Content-Type-Options", "nosniff"))
        return response

    async def list(
        self, target: Target, entries: Sequence[Entry], meta: Object, accept: Negotiated, *, params: Params
    ) -> Response:
        """Return a collection: `meta` is its ListMeta in canonical form."""
        held = Held(entries)
        if len(entries) > PINNED_ITEMS:
            target.stored.cache.pins.add(held)
        if target.forms is not None:
            await target.forms.ensure(await in_turns(self._turns, _lacking(target.forms, held)))
        if target.stored.codec.unread:
            await self.encode_large(target, held.run(0, 1), accept)
        if accept.transform is not None:
            check_transform(accept, target.resource.list_kind or "", is_list=True)
            if accept.format == "protobuf":
                await self._encode_listed(target, held, accept)
                form = ProtobufForm(partial(self._transforms.metadata_message, target), ITEMS_TAG)
                kind = (accept.transform_version, "PartialObjectMetadataList")
                return await self._protobuf_list(form, held, meta, accept, kind)
            return await self._text_list(self._transforms.parts(target, held, meta, accept, params), held, accept)
        if accept.format == "protobuf":
            await self._encode_listed(target, held, accept)
            kind = (target.resource.api_version, target.resource.list_kind or "")
            return await self._protobuf_list(ProtobufForm(target.protobuf, ITEMS_TAG), held, meta, accept, kind)
        if accept.format == "json" and not accept.pretty:
            return await self._json_list(target, held, meta, accept)
        batches = ([_item(target, entry) for entry in run] for run in held.runs(TEXT_STRIDE))
        return await self._text_list(list_parts(_list_head(target, meta), "items", batches, accept), held, accept)

    def wire(self, target: Target, accept: Negotiated, *, params: Params) -> Wire:
        """Return the wire format of a watch's events."""
        if accept.transform is not None:
            check_transform(accept, target.resource.kind, is_list=False)
            wire = self._transforms.wire(target, accept, params)
        else:
            wire = self._wires.plain(target, accept.format)
        if self._sent is not None:
            resource = target.resource
            wire.sent = self._sent(resource.group, resource.version, resource.kind)
        return wire

    async def encode_large(self, target: Target, entries: Sequence[Entry], accept: Negotiated) -> None:
        """Make the missing encodings of large ones among `entries`, one by one in the thread.

        Raises TooManyRequests (429) if too much waits for that.
        """
        has: Callable[[Entry], bool]
        make: Callable[[Entry], object]
        if accept.transform == "Table":
            has = partial(self._transforms.has_cells, target)
            make = partial(self._transforms.make_cells, target)
        elif accept.format == "protobuf" and target.codec.protobuf:
            has, make = target.has_protobuf, target.protobuf
        else:
            has, make = target.has_json, target.json_tail
        for entry in entries:
            if (size := _work_bytes(target, entry)) > INLINE_BYTES and not has(entry):
                await self._offload.run(size, partial(make, entry))

    async def _encode_listed(self, target: Target, held: Held, accept: Negotiated) -> bool:
        """Encode large objects of a list, as `encode_large`; report whether it has any.

        Objects lack encodings after a start, or in a version that is new to them.
        """
        large = await in_turns(self._turns, _large(held)) if target.stored.cache.large else []
        await self.encode_large(target, large, accept)
        return bool(large)

    async def _text_list(self, parts: Iterator[bytes], held: Held, accept: Negotiated) -> Response:
        """Return a list in a form that is made for the request, in the thread if it has large objects."""
        large = await in_turns(self._turns, _large(held))
        if not large:
            return self._made(parts, accept)
        largest = max(len(entry.raw) for entry in large)
        made = ThreadParts(self._offload, parts, largest)
        return Response(content_type=accept.content_type, stream=MadeStream(await made.next(), made))

    async def _json_list(self, target: Target, held: Held, meta: Object, accept: Negotiated) -> Response:
        """Return a list as JSON; if most of it must be encoded first, that is done while it is sent."""
        has_large = await self._encode_listed(target, held, accept)
        form = JsonForm(target.listed_json, target.codec.item_prefix, target.listed_size)
        head = orjson.dumps(_list_head(target, meta))[:-1] + b',"items":['
        items = await in_some_turns(self._turns, items_of(held, form), MEASURING_SLICES)
        if items is None and not has_large:
            return self._made(chain([head], parts_of(held, form), [LIST_END]), accept)
        return _framed(head, await self._items(held, form) if items is None else items, LIST_END, accept)

    async def _protobuf_list(
        self, form: PieceForm, held: Held, meta: Object, accept: Negotiated, kind: tuple[str, str]
    ) -> Response:
        items = await self._items(held, form)
        list_meta = delimited(METADATA_FIELD, self._list_meta.encode_protobuf(meta))
        head = envelope_head(*kind) + varint(len(list_meta) + items.length) + list_meta
        return _framed(head, items, ENVELOPE_END, accept)

    async def _items(self, held: Held, form: PieceForm) -> Items:
        return await in_turns(self._turns, items_of(held, form))


def _lacking(forms: Forms, held: Held) -> Steps[list[Entry]]:
    """Find the objects of a list that have to be converted, in steps."""
    found: list[Entry] = []
    for entries in held.runs(SCANNED):
        found += [entry for entry in entries if forms.lacks(entry)]
        yield
    return found


def _large(held: Held) -> Steps[list[Entry]]:
    """Find the objects of a list that are too large to encode on the reactor, in steps."""
    found: list[Entry] = []
    for entries in held.runs(SCANNED):
        found += [entry for entry in entries if size_at_rest(entry) > INLINE_BYTES]
        yield
    return found


def _work_bytes(target: Target, entry: Entry) -> int:
    """Return the size that decides whether a form of an object is made on the reactor."""
    size = len(entry.raw)
    return max(size, COLD_BYTES) if target.stored.codec.unread and not target.has_json(entry) else size


def _at_hand(target: Target, entry: Entry, accept: Negotiated) -> bool:
    """Report whether the response body has been encoded already."""
    if accept.transform is not None or accept.pretty:
        return False
    if accept.format == "protobuf":
        return target.has_protobuf(entry)
    return accept.format == "json" and target.has_json(entry)


def _framed(head: bytes, items: Items, end: bytes, accept: Negotiated) -> Response:
    """Return a list between its head and its end; a short one as one piece."""
    pieces = Framed(head, items, end)
    if pieces.length <= SHORT_BYTES:
        return Response(content_type=accept.content_type, body=b"".join(pieces))
    return Response(content_type=accept.content_type, body=pieces, length=pieces.length)


def _shared(code: int, accept: Negotiated, pieces: tuple[bytes, ...]) -> Response:
    """Return an object's own bytes and their frame: a large one is not copied for each request."""
    length = sum(map(len, pieces))
    if length < LARGE_BYTES:
        return Response(code=code, content_type=accept.content_type, body=b"".join(pieces))
    return Response(code=code, content_type=accept.content_type, body=pieces, length=length)


def _item(target: Target, entry: Entry) -> Object:
    """Return an object as a list item: without kind and apiVersion if it has a Protobuf form (reference OBJ-14)."""
    obj = target.load(entry)
    if target.codec.protobuf:
        del obj["kind"], obj["apiVersion"]
    return obj


def _list_head(target: Target, meta: Object) -> Object:
    return {"kind": target.resource.list_kind, "apiVersion": target.resource.api_version, "metadata": meta}
