"""Tables and partial metadata in place of whole objects (seed 1 §4.5, supplement A10)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import orjson

from orchtw.errors import StatusError
from orchtw.naming import Naming
from orchtw.registry.target import Target
from orchtw.rules.negotiation import Negotiated
from orchtw.rules.options import IncludeObject, include_object
from orchtw.schema.codec import Codecs
from orchtw.schema.envelope import wrap
from orchtw.schema.partial import partial_metadata, partial_metadata_list
from orchtw.schema.splice import split_owned
from orchtw.schema.table import TableLayout, write_table
from orchtw.watch.entry import Entry
from orchtw.watch.frames import BOOKMARK, ERROR, Wire, protobuf_frame

Object = dict[str, Any]
Params = Mapping[str, list[str]]
CELLS = ("cells",)
"""Where an entry keeps the cells of its Table row."""


class Transforms:
    """Makes Table and PartialObjectMetadata answers. `now` gives seconds since the epoch: ages count from it."""

    def __init__(self, codecs: Codecs, naming: Naming, now: Callable[[], float]) -> None:
        self._codecs = codecs
        self._naming = naming
        self._now = now
        self._layouts: dict[Target, TableLayout] = {}
        self._wires: dict[tuple[Target, Negotiated, str], Wire] = {}

    def one(self, target: Target, entry: Entry, accept: Negotiated, params: Params) -> Object:
        """One object as a one-row Table, or its metadata."""
        if accept.transform == "Table":
            meta = {"resourceVersion": str(entry.revision)} if entry.revision else {}
            return self.table(target, [entry], meta, accept.transform_version, include_object(params))
        return partial_metadata(target.load(entry), self._naming, accept.transform_version)

    def many(
        self, target: Target, entries: Iterable[Entry], meta: Object, accept: Negotiated, params: Params
    ) -> Object:
        """A list as a Table, or as the list of its items' metadata."""
        if accept.transform == "Table":
            return self.table(target, entries, meta, accept.transform_version, include_object(params))
        return partial_metadata_list(meta, map(target.load, entries), self._naming, accept.transform_version)

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
        """A Table of cached objects."""
        layout = self._layout(target)
        now_s = self._now()
        rows = []
        for entry in entries:
            stored = target.stored.load(entry)
            served = target.load(entry) if target.from_storage else stored
            rows.append(layout.row(stored, now_s, include=include, served=served, version=version))
        return layout.table(meta, rows, version=version, headed=headed)

    def table_json(
        self, target: Target, entries: Iterable[Entry], meta: Object, version: str, params: Params
    ) -> bytes:
        """A list as a Table in compact JSON; cells are kept with the entries for the next time."""
        layout, include, now_s = self._layout(target), include_object(params), self._now()
        if include != "Metadata" or target.from_storage is not None:
            return orjson.dumps(self.table(target, entries, meta, version, include))
        head = f'{{"kind":"PartialObjectMetadata","apiVersion":"{self._naming.meta_group}/{version}",'.encode()
        rows = []
        for entry in entries:
            cells, end = self._cells(target, layout, entry, now_s)
            if end:
                shown = orjson.Fragment(b"%b%b}" % (head, target.json_tail(entry)[:end]))
                rows.append({"cells": cells, "object": shown})
            else:
                rows.append(layout.row(target.load(entry), now_s, version=version))
        return write_table(layout.table(meta, rows, version=version), now_s)

    @staticmethod
    def _cells(target: Target, layout: TableLayout, entry: Entry, now_s: float) -> tuple[list[Any], int]:
        """The cells of a row, and where the object's metadata ends in its JSON; 0: make the row from the object."""
        kept: tuple[list[Any], int] | None = None if entry.other is None else entry.other.get(CELLS)
        if kept is not None:
            return kept
        parts = split_owned(target.json_tail(entry))
        if parts is None:
            return [], 0
        obj = parts[0]
        obj["kind"], obj["apiVersion"] = target.resource.kind, target.resource.api_version  # cells may ask
        found = layout.lasting_cells(obj, now_s)
        if found is None:
            return [], 0
        cells, lasts = found
        if lasts:
            if entry.other is None:
                entry.other = {}
            entry.other[CELLS] = cells, parts[1]
        return cells, parts[1]

    def wire(self, target: Target, accept: Negotiated, params: Params) -> Wire:
        """The form of a watch's events; one per resource, form and included object."""
        include = include_object(params)
        key = target, accept, include
        wire = self._wires.get(key)
        if wire is None:
            wire = self._wires[key] = TransformedWire(self, self._codecs, self._naming, target, accept, include)
        return wire

    def _layout(self, target: Target) -> TableLayout:
        layout = self._layouts.get(target)
        if layout is None:
            resource = target.resource
            layout = TableLayout(resource.group, resource.kind, resource.columns, self._naming)
            self._layouts[target] = layout
        return layout


class TransformedWire:
    """Watch events whose objects are Tables or partial metadata, as JSON lines or Protobuf frames.

    Only the first event of a Table stream carries the columns.
    """

    def __init__(
        self,
        transforms: Transforms,
        codecs: Codecs,
        naming: Naming,
        target: Target,
        accept: Negotiated,
        include: IncludeObject,
    ) -> None:
        self.opens = accept.transform == "Table"
        self._transforms = transforms
        self._codecs = codecs
        self._naming = naming
        self._target = target
        self._accept = accept
        self._include = include

    def frame(self, event_type: str, entry: Entry, revision: int) -> bytes:
        """One event without columns."""
        return self._framed(event_type, self._obj(entry, revision, headed=False))

    def opening(self, event_type: str, entry: Entry, revision: int) -> bytes:
        """The first event of a stream."""
        return self._framed(event_type, self._obj(entry, revision, headed=True))

    def bookmark(self, revision: int) -> bytes:
        """A Table without rows, or metadata with nothing but a resourceVersion."""
        version = self._accept.transform_version
        meta: Object = {"resourceVersion": str(revision)}
        if self.opens:
            return self._framed(
                BOOKMARK, self._transforms.table(self._target, (), meta, version, self._include, headed=False)
            )
        obj: Object = {"metadata": {**meta, "creationTimestamp": None}}
        return self._framed(BOOKMARK, partial_metadata(obj, self._naming, version))

    def error(self, error: StatusError) -> bytes:
        """The Status, never transformed."""
        return self._framed(ERROR, self._codecs.kind("v1", "Status").normalise(error.to_status()))

    def _obj(self, entry: Entry, revision: int, *, headed: bool) -> Object:
        version = self._accept.transform_version
        if self.opens:
            meta = {"resourceVersion": str(revision)}
            table = self._transforms.table(self._target, [entry], meta, version, self._include, headed=headed)
            if shown := table["rows"][0]["object"]:
                shown["metadata"]["resourceVersion"] = meta["resourceVersion"]
            return table
        obj = self._target.load(entry)
        obj["metadata"]["resourceVersion"] = str(revision)
        return partial_metadata(obj, self._naming, version)

    def _framed(self, event_type: str, obj: Object) -> bytes:
        if self._accept.format == "protobuf":
            api_version, kind = obj["apiVersion"], obj["kind"]
            raw = self._codecs.kind(api_version, kind).encode_protobuf(obj)
            return protobuf_frame(event_type, wrap(api_version, kind, raw))
        return b'{"type":"%b","object":%b}\n' % (event_type.encode(), orjson.dumps(obj))
