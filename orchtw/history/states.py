"""Answers about past states: objects as lines, an object or a collection by its API path, and differences."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Generator, Iterator, Sequence
from typing import Final

import msgspec

from orchtw.audit.event import text
from orchtw.errors import BadRequest, NotFound
from orchtw.history.past import STRIDE, PastObjects, PastStates
from orchtw.history.query import Filters, Params
from orchtw.history.query import text as parameter
from orchtw.history.rendering import difference_line, state_line
from orchtw.history.resource import RecordedResource
from orchtw.history.ring import RecordedWrite, Ring
from orchtw.registry.offload import Offload
from orchtw.registry.target import Target
from orchtw.registry.targets import Targets
from orchtw.request import RequestInfo
from orchtw.responses.slices import in_turns
from orchtw.rules.request_info import check_segments, parse
from orchtw.rules.selectors import parse_fields, parse_labels
from orchtw.values.causes import go_quote
from orchtw.watch.entry import Entry
from orchtw.watch.selection import Selection

PART_BYTES: Final = 32 * 1024
"""Objects, as they are stored, that are made into text in one go."""

_SHOWN: Final = 200


class Begun:
    """Parts of a text that are made one after the other, the first one before the answer begins; a `TextParts`."""

    def __init__(self, parts: AsyncIterator[bytes]) -> None:
        self._parts = parts
        self._first = b""

    async def begin(self) -> None:
        """Make the first part: what is wrong by then has a status of its own."""
        self._first = await self._next()

    async def next(self) -> bytes:
        """Return the next part, empty at the end."""
        first, self._first = self._first, b""
        return first or await self._next()

    async def _next(self) -> bytes:
        async for part in self._parts:
            if part:
                return part
        return b""


class StateAnswers(msgspec.Struct, frozen=True, eq=False):
    """Ensurer of the answers, each as parts that are made on demand."""

    states: PastStates
    targets: Targets
    offload: Offload

    async def all_objects(self, filters: Filters, revision: int) -> AsyncIterator[bytes]:
        """Yield a line for each wanted object as of a resolved revision. Raises Expired (410)."""
        async for found in self.states.objects(filters.wants_resource, revision):
            entries = [each for each in found.entries if filters.wants_object(each.namespace, each.name)]
            for some in _batches(entries):
                yield await self._made(some, lambda entries, found=found: _state_lines(found, entries))  # type: ignore[misc]

    async def of_path(self, params: Params, revision: int) -> AsyncIterator[bytes]:
        """Yield the JSON of an object or a collection, named by its API path in `path`, as of a resolved revision.

        `labelSelector` and `fieldSelector` select from a collection. Raises BadRequest (400), Expired (410), and
        NotFound (404) if there was no such object, or there is no such resource.
        """
        target, info = self._resolved(parameter(params, "path"))
        namespace = info.namespace if target.resource.namespaced else ""
        if len(info.parts) > 1:
            key = target.stored.tail(namespace, info.name)
            async for resource, entry in self._entries(target, lambda entry: entry.key == key, revision):
                yield await self._made((entry,), _documents(target, resource)) + b"\n"
                return
            raise NotFound.of(target.resource.plural, target.resource.group, info.name)
        labels = parse_labels(parameter(params, "labelSelector"))
        fields = parse_fields(parameter(params, "fieldSelector"), target.resource.field_selectors)
        selection = Selection(namespace, labels, fields, target.stored.field_names)
        head = {"kind": target.resource.list_kind, "apiVersion": target.resource.api_version}
        yield text({**head, "metadata": {"resourceVersion": str(revision)}})[:-1] + b',"items":['
        separator = b""
        async for resource, entry in self._entries(target, selection.matches, revision):
            yield separator + await self._made((entry,), _documents(target, resource))
            separator = b","
        yield b"]}\n"

    async def differences(self, filters: Filters, after: int, upto: int) -> AsyncIterator[bytes]:
        """Yield a line for each wanted object that differs between two resolved revisions, in the order of writes.

        Raises Expired (410) if not all writes since the earlier one are recorded.
        """
        recorder = self.states.recorder
        recorder.check_kept(after)
        ring = recorder.ring
        spans = await in_turns(recorder.turns, _spans(ring, ring.after(after), ring.after(upto), filters))
        while spans:
            first, last = spans.pop(next(iter(spans)))
            size = len(first.previous or b"") + len(last.value or b"")
            yield await self.offload.run(size, lambda first=first, last=last: difference_line(first, last))  # type: ignore[misc]

    def _resolved(self, path: str) -> tuple[Target, RequestInfo]:
        """Return the target of an API path, and its request info. Raises BadRequest (400) and NotFound (404)."""
        info = parse("GET", path, {})
        if not info.is_resource or info.subresource or info.verb not in ("get", "list"):
            raise BadRequest(f"path: {go_quote(path[:_SHOWN])} must be the API path of an object or a collection")
        check_segments(info)
        target = self.targets.find(info.group, info.version, info.resource)
        if target is None or (len(info.parts) > 1 and target.resource.namespaced and not info.namespace):
            raise NotFound.generic()
        return target, info

    async def _entries(
        self, target: Target, matches: Callable[[Entry], bool], revision: int
    ) -> AsyncIterator[tuple[RecordedResource, Entry]]:
        """Yield the matching objects of a target, whose forms in its version are at hand."""
        prefix = target.stored.prefix
        async for found in self.states.objects(lambda resource: resource.prefix == prefix, revision):
            entries = list(filter(matches, found.entries))
            if target.forms is not None:
                await target.forms.ensure(entries)
            for entry in entries:
                yield found.resource, entry

    async def _made(self, entries: Sequence[Entry], make: Callable[[Sequence[Entry]], bytes]) -> bytes:
        return await self.offload.run(sum(len(entry.raw) for entry in entries), lambda: make(entries))


def _spans(
    ring: Ring, start: int, end: int, filters: Filters
) -> Generator[None, None, dict[str, tuple[RecordedWrite, RecordedWrite]]]:
    """Return the first and the last write of each wanted object among numbered records, in steps."""
    spans: dict[str, tuple[RecordedWrite, RecordedWrite]] = {}
    for number, record in enumerate((yield from ring.between(start, end))):
        resource = record.resource
        if filters.wants_resource(resource) and filters.wants_object(*resource.names(record.key)):
            first, _ = spans.get(record.key, (record, record))
            spans[record.key] = first, record
        if number % STRIDE == 0:
            yield
    return spans


def _documents(target: Target, resource: RecordedResource) -> Callable[[Sequence[Entry]], bytes]:
    return lambda entries: b",".join(text(resource.shown(target.load(entry))) for entry in entries)


def _state_lines(found: PastObjects, entries: Sequence[Entry]) -> bytes:
    resource = found.resource
    return b"".join(state_line(resource, resource.prefix + each.key, found.load(each)) for each in entries)


def _batches(entries: Sequence[Entry]) -> Iterator[Sequence[Entry]]:
    """Yield the entries in groups that are small together, or hold a single one."""
    some: list[Entry] = []
    size = 0
    for entry in entries:
        if some and size + len(entry.raw) > PART_BYTES:
            yield some
            some, size = [], 0
        some.append(entry)
        size += len(entry.raw)
    if some:
        yield some
