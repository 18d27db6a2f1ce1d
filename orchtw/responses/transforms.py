"""Tables and partial metadata in place of whole objects (reference TABLE-1, TABLE-9)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any, Final

import orjson

from orchtw.errors import StatusError
from orchtw.metrics.series import Histogram
from orchtw.naming.naming import Naming
from orchtw.registry.target import Target
from orchtw.responses.pieces import Held
from orchtw.responses.text_forms import list_parts
from orchtw.rules.negotiation import Negotiated
from orchtw.rules.options import IncludeObject, include_object
from orchtw.schema.codec.codecs import Codecs
from orchtw.schema.codec.envelope import wrap
from orchtw.schema.codec.splice import metadata_field, set_json_version, split_owned
from orchtw.schema.tables.cached_rows import Row, cached_row, written_row
from orchtw.schema.tables.convertor import TableLayout, custom_layout, write_table
from orchtw.schema.tables.partial_object_metadata import partial_metadata, partial_metadata_list
from orchtw.watch.entry import LARGE_BYTES, ROW_BYTES, Entry
from orchtw.watch.frames import BOOKMARK, ERROR, FRAME_BYTES, Wire, protobuf_frame
from orchtw.watch.gate import Gate
from orchtw.wire.objects import Object

Params = Mapping[str, list[str]]
STRIDE: Final = 8
"""Number of objects made into rows or metadata between two readings of the clock."""


class Transforms:
    """Ensurer of Table and PartialObjectMetadata responses. `now` returns seconds since the epoch, for ages."""

    def __init__(self, codecs: Codecs, naming: Naming, now: Callable[[], float]) -> None:
        self._codecs = codecs
        self._naming = naming
        self._now = now
        self._partial = codecs.kind(f"{naming.meta_group}/v1", "PartialObjectMetadata")

    def one(self, target: Target, entry: Entry, accept: Negotiated, params: Params) -> Object:
        """Return one object as a one-row Table, or its metadata."""
        if accept.transform == "Table":
            meta = {"resourceVersion": str(entry.revision)} if entry.revision else {}
            return self.table(target, [entry], meta, accept.transform_version, include_object(params))
        return self._metadata_of(target, entry, accept.transform_version)

    def _metadata_of(self, target: Target, entry: Entry, version: str) -> Object:
        """Return an object's PartialObjectMetadata; of a large one only the metadata is decoded."""
        if len(entry.raw) <= LARGE_BYTES:
            return partial_metadata(target.load(entry), version)
        return partial_metadata({"metadata": target.stored.metadata(entry)}, version)

    def parts(self, target: Target, held: Held, meta: Object, accept: Negotiated, params: Params) -> Iterator[bytes]:
        """Yield a list as a Table, or as the list of its items' metadata, in a text form and in parts.

        A part takes a millisecond or so to make.
        """
        version = accept.transform_version
        if accept.transform == "Table":
            now_s = self._now()
            head = self._layout(target).table(meta, (), version=version)
            del head["rows"]
            rows = self._rows(target, held, version, include_object(params), lasting=_is_compact(accept))
            return list_parts(head, "rows", rows, accept, partial(write_table, now_s=now_s))
        head = partial_metadata_list(meta, (), version)
        del head["items"]
        return list_parts(head, "items", self._metadata(target, held, version, accept), accept)

    def metadata_message(self, target: Target, entry: Entry) -> bytes:
        """Return a PartialObjectMetadata's inner message: the object's own, up to the end of its metadata."""
        if target.codec.protobuf:
            return metadata_field(target.protobuf(entry))
        return self._partial.encode_protobuf({"metadata": target.stored.metadata(entry)})

    def _metadata(self, target: Target, held: Held, version: str, accept: Negotiated) -> Iterator[list[Any]]:
        """Yield the metadata of the objects in batches, cut out of their JSON where possible."""
        for entries in held.runs(STRIDE):
            batch: list[Any] = []
            for entry in entries:
                splits = _is_compact(accept) and len(entry.raw) <= LARGE_BYTES
                tail = target.listed_json(entry) if splits else b""
                parts = split_owned(tail) if splits else None
                if parts is None:
                    batch.append(self._metadata_of(target, entry, version))
                else:
                    batch.append(self._shown(tail, parts[1], version))
            yield batch

    def _shown(self, tail: bytes, end: int, version: str) -> orjson.Fragment:
        """Return the PartialObjectMetadata of an object whose metadata ends at `end` of its JSON."""
        return orjson.Fragment(b"%b%b}" % (_opening(version), tail[:end]))

    def _rows(
        self, target: Target, held: Held, version: str, include: IncludeObject, *, lasting: bool
    ) -> Iterator[list[Any]]:
        """Yield the rows of a Table in batches; `lasting`: for `write_table`, with cells that are cached."""
        layout, now_s = self._layout(target), self._now()
        if not lasting or include != "Metadata" or not target.row_key:
            for entries in held.runs(STRIDE):
                yield [self._row(target, layout, entry, now_s, version, include) for entry in entries]
            return
        opening = _opening(version)
        for entries in held.runs(STRIDE):
            rows: list[Any] = []
            for entry in entries:
                row = self._row_of(target, layout, entry, now_s)
                if row is None:
                    rows.append(layout.row(target.load(entry), now_s, version=version))
                else:
                    cells, end = written_row(row, now_s)
                    head = target.listed_head(entry, end)
                    rows.append(orjson.Fragment(b'{"cells":%b,"object":%b%b}}' % (cells, opening, head)))
            yield rows

    def event_row(
        self, target: Target, entry: Entry, revision: int, version: str, include: IncludeObject
    ) -> Object | None:
        """Return the row of a watch event from cached parts, for compact JSON; None if it needs the object.

        Its object carries `revision` as resourceVersion.
        """
        if not target.row_key:
            return None
        now_s = self._now()
        row = self._row_of(target, self._layout(target), entry, now_s)
        if row is None:
            return None
        text, end = written_row(row, now_s)
        cells = orjson.Fragment(text)
        if include == "None":
            return {"cells": cells, "object": None}
        tail = target.json_tail(entry)
        if entry.revision != revision:
            end -= len(tail)
            tail = set_json_version(tail, b"%d" % revision)
            end += len(tail)
        whole = include == "Object"
        shown = orjson.Fragment(target.codec.type_prefix + tail) if whole else self._shown(tail, end, version)
        return {"cells": cells, "object": shown}

    def table_of(self, target: Target, row: Object, meta: Object, version: str, *, headed: bool) -> bytes:
        """Return the JSON of a one-row Table, made by `event_row`."""
        table = self._layout(target).table(meta, [row], version=version, headed=headed)
        return write_table(table, self._now())

    @staticmethod
    def has_cells(target: Target, entry: Entry) -> bool:
        """Report whether the cells of an object's row are cached."""
        return entry.other is not None and target.row_key in entry.other

    def make_cells(self, target: Target, entry: Entry) -> None:
        """Make the cells of an object's row, and its JSON."""
        target.json_tail(entry)
        self._row_of(target, self._layout(target), entry, self._now())

    @staticmethod
    def _row(
        target: Target, layout: TableLayout, entry: Entry, now_s: float, version: str, include: IncludeObject
    ) -> Object:
        draft = target.load_draft(entry)
        served = draft if draft["apiVersion"] == target.codec.api_version else target.load(entry)
        return layout.row(draft, now_s, include=include, served=served, version=version)

    def table(
        self,
        target: Target,
        entries: Iterable[Entry],
        meta: Object,
        version: str,
        include: IncludeObject,
        *,
        headed: bool = True,
    ) -> Object:
        """Return a Table of cached objects."""
        layout = self._layout(target)
        now_s = self._now()
        rows = [self._row(target, layout, entry, now_s, version, include) for entry in entries]
        return layout.table(meta, rows, version=version, headed=headed)

    @staticmethod
    def _row_of(target: Target, layout: TableLayout, entry: Entry, now_s: float) -> Row | None:
        """Return an object's row, which is kept if it lasts; None: make it from the object."""
        kept: Row | None = None if entry.other is None else entry.other.get(target.row_key)
        if kept is not None:
            return kept
        parts = split_owned(target.listed_json(entry))
        if parts is None:
            return None
        obj = parts[0]
        obj["kind"], obj["apiVersion"] = target.resource.kind, target.resource.api_version  # cells may ask
        found = layout.lasting_cells(obj, now_s)
        if found is None:
            return None
        cells, lasts = found
        row = cached_row(cells, parts[1])
        if lasts:
            other = entry.other
            if other is None:
                other = entry.other = {}
            other[target.row_key] = row
            target.stored.made(entry, 0, 0, ROW_BYTES + len(row))
        return row

    def wire(self, target: Target, accept: Negotiated, params: Params) -> Wire:
        """Return the wire format of a watch's events; one per resource, form and included object."""
        include = include_object(params)
        key = Transforms, accept, include
        wire: Wire | None = target.kept.get(key)
        if wire is None:
            wire = target.kept[key] = TransformedWire(self, self._codecs, target, accept, include)
        return wire

    def _layout(self, target: Target) -> TableLayout:
        layout: TableLayout | None = target.kept.get(TableLayout)
        if layout is None:
            layout = target.kept[TableLayout] = self._make_layout(target)
        return layout

    def _make_layout(self, target: Target) -> TableLayout:
        columns, traits = target.resource.columns, target.strategy.traits
        if traits.own_columns:
            return custom_layout(columns, self._naming)
        return TableLayout(columns, traits.cells, self._naming)


def _opening(version: str) -> bytes:
    """Return the JSON of a PartialObjectMetadata before its metadata."""
    return f'{{"kind":"PartialObjectMetadata","apiVersion":"{version}",'.encode()


def _is_compact(accept: Negotiated) -> bool:
    return accept.format == "json" and not accept.pretty


class TransformedWire:
    """Watch events whose objects are Tables or partial metadata, as JSON lines or Protobuf frames.

    Only the first event of a Table stream carries the columns.
    """

    def __init__(
        self,
        transforms: Transforms,
        codecs: Codecs,
        target: Target,
        accept: Negotiated,
        include: IncludeObject,
    ) -> None:
        self.opens = accept.transform == "Table"
        self.gate: Gate | None = target.forms
        self.sent = Histogram(FRAME_BYTES)
        self._transforms = transforms
        self._codecs = codecs
        self._target = target
        self._accept = accept
        self._include = include

    def frame(self, event_type: str, entry: Entry, revision: int) -> bytes:
        """Return one event without columns."""
        return self._event(event_type, entry, revision, headed=False)

    def opening(self, event_type: str, entry: Entry, revision: int) -> bytes:
        """Return the first event of a stream, with columns."""
        return self._event(event_type, entry, revision, headed=True)

    def _event(self, event_type: str, entry: Entry, revision: int, *, headed: bool) -> bytes:
        if self.opens and self._accept.format == "json":
            version = self._accept.transform_version
            row = self._transforms.event_row(self._target, entry, revision, version, self._include)
            if row is not None:
                meta = {"resourceVersion": str(revision)}
                table = self._transforms.table_of(self._target, row, meta, version, headed=headed)
                return _json_frame(event_type, table)
        return self._framed(event_type, self._obj(entry, revision, headed=headed))

    def pieces(self, event_type: str, entry: Entry) -> None:
        """Return None: transformed objects are made anew."""

    def bookmark(self, revision: int, *, ends_state: bool = False) -> bytes:
        """Return a Table without rows, or metadata with nothing but a resourceVersion.

        A Table at the end of the state has a row for the object with the annotation.
        """
        version = self._accept.transform_version
        meta: Object = {"resourceVersion": str(revision)}
        obj: Object = {"metadata": {**meta, "creationTimestamp": None}}
        if ends_state:
            obj["metadata"]["annotations"] = {self._codecs.catalogue.naming.initial_events_annotation: "true"}
        if not self.opens:
            return self._framed(BOOKMARK, partial_metadata(obj, version))
        table = self._transforms.table(self._target, (), meta, version, self._include, headed=False)
        if ends_state:
            table["rows"] = [{"cells": [], "object": partial_metadata(obj, version)}]
        return self._framed(BOOKMARK, table)

    def error(self, error: StatusError) -> bytes:
        """Return the Status, which is never transformed."""
        return self._framed(ERROR, self._codecs.kind("v1", "Status").normalise(error.to_status()))

    def _obj(self, entry: Entry, revision: int, *, headed: bool) -> Object:
        version = self._accept.transform_version
        if self.opens:
            meta = {"resourceVersion": str(revision)}
            table = self._transforms.table(self._target, [entry], meta, version, self._include, headed=headed)
            if shown := table["rows"][0]["object"]:
                shown["metadata"]["resourceVersion"] = meta["resourceVersion"]
            return table
        obj = self._transforms.one(self._target, entry, self._accept, {})
        obj["metadata"]["resourceVersion"] = str(revision)
        return obj

    def _framed(self, event_type: str, obj: Object) -> bytes:
        if self._accept.format == "protobuf":
            api_version, kind = obj["apiVersion"], obj["kind"]
            raw = self._codecs.kind(api_version, kind).encode_protobuf(obj)
            return protobuf_frame(event_type, wrap(api_version, kind, raw))
        return _json_frame(event_type, orjson.dumps(obj))


def _json_frame(event_type: str, obj: bytes) -> bytes:
    return b'{"type":"%b","object":%b}\n' % (event_type.encode(), obj)
