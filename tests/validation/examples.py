"""Examples of the rules of a kind: what is refused, accepted, completed or warned of, asked of a whole server."""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

import attrs

from orchtw.testing.in_process import ClientAnswer
from orchtw.values.causes import WHOLE_OBJECT
from orchtw.wire.objects import Object
from tests.validation.paths import GONE, changed, fits, value_at

if TYPE_CHECKING:
    from tests.validation.case import EntryCase

Changes = Mapping[str, Any]
"""Values by path; GONE takes one away."""

NONE: Changes = {}


@attrs.frozen(slots=True, kw_only=True)
class Base:
    """A valid object of a kind, and the collection that takes it: from the root, or below namespace default."""

    path: str
    obj: Object


@attrs.frozen(slots=True)
class Entry:
    """One entry of a file: the rule, and how its breach is told."""

    number: int
    fact: Mapping[str, Any]

    @property
    def on(self) -> str:
        """Return the kind of write: create, update, status or a sub-resource's path."""
        on: str = self.fact["on"]
        return "create" if on == "both" else on

    @property
    def path(self) -> str:
        """The path in the cause."""
        path: str = self.fact.get("reportedPath") or self.fact["path"]
        return WHOLE_OBJECT if path == "(empty)" else path

    @property
    def reason(self) -> str:
        """The reason in the cause."""
        error: str = self.fact.get("error", "Invalid")
        return error if error == "InternalError" else f"FieldValue{error}"

    @property
    def details(self) -> list[str]:
        """Patterns of the detail, one of which the cause's message contains."""
        detail: str = self.fact.get("detail", "")
        return [".*".join(map(re.escape, re.split(r"\.\.\.|<[^>]+>", each))) for each in detail.split(" | ")]


@attrs.frozen(slots=True, kw_only=True)
class Example:
    """Common fields: the kind of the object (default: the entry's), the write (default: the entry's)
    and how the object differs from the base beforehand, on update in the stored object too."""

    kind: str = ""
    on: str = ""
    before: Changes = NONE

    def run(self, case: EntryCase, entry: Entry) -> None:
        """Raise AssertionError if the server does otherwise."""
        raise NotImplementedError

    def write(self, case: EntryCase, entry: Entry, changes: Changes) -> ClientAnswer:
        """The answer to a create, or to an update of an object that was made as the base is."""
        base = case.bases[self.kind or entry.fact["kind"]]
        on = self.on or entry.on
        given = changed(base.obj, {**case.fresh_name(base.obj), **self.before})
        if on == "create":
            return case.send("POST", base.path, changed(given, changes))
        made = case.done("POST", base.path, given)
        subresource = "" if on == "update" else f"/{on}"
        return case.send("PUT", f"{base.path}/{made['metadata']['name']}{subresource}", changed(made, changes))


@attrs.frozen(slots=True, kw_only=True)
class Refused(Example):
    """`change` is a 422 with the entry's cause at its path (or at `field`); `accepts`, in its place, is fine.

    `detail`: what the message contains, if the entry does not say. `code`: of another refusal, whose message
    contains it.
    """

    change: Changes
    accepts: Changes | None = NONE
    field: str = ""
    detail: str = ""
    code: int = 422

    def run(self, case: EntryCase, entry: Entry) -> None:
        answer = self.write(case, entry, self.change)
        assert answer.code == self.code, (answer.code, answer.body[:600])
        if self.code == 422:
            self._check_causes(answer.json["details"].get("causes", []), entry)
        else:
            assert re.search(self.detail, answer.json["message"]), answer.json["message"]
        if self.accepts is not None:
            answer = self.write(case, entry, self.accepts)
            assert answer.code in (200, 201), (answer.code, answer.body[:600])

    def _check_causes(self, causes: list[Any], entry: Entry) -> None:
        details = [self.detail] if self.detail else entry.details
        for cause in causes:
            field = cause.get("field", "")
            there = field == self.field if self.field else fits(entry.path, field)
            said = any(re.search(each, cause["message"]) for each in details)
            if there and said and cause["reason"] == entry.reason:
                return
        raise AssertionError(f"{entry.reason} at {self.field or entry.path} saying {details}: {causes}")


@attrs.frozen(slots=True, kw_only=True)
class Accepted(Example):
    """`change` is not refused."""

    change: Changes

    def run(self, case: EntryCase, entry: Entry) -> None:
        answer = self.write(case, entry, self.change)
        assert answer.code in (200, 201), (answer.code, answer.body[:600])


@attrs.frozen(slots=True, kw_only=True)
class Stored(Example):
    """Example in which the result of `change` has these values at these paths; GONE: absent."""

    change: Changes = NONE
    expected: Changes

    def run(self, case: EntryCase, entry: Entry) -> None:
        answer = self.write(case, entry, self.change)
        assert answer.code in (200, 201), (answer.code, answer.body[:600])
        found = {path: value_at(answer.json, path) for path in self.expected}
        assert found == dict(self.expected), found


@attrs.frozen(slots=True, kw_only=True)
class Warned(Example):
    """`change` is accepted with a warning that contains `text`; `accepts`, in its place, without."""

    change: Changes
    text: str
    accepts: Changes = NONE

    def run(self, case: EntryCase, entry: Entry) -> None:
        for changes, expected in ((self.change, True), (self.accepts, False)):
            answer = self.write(case, entry, changes)
            assert answer.code in (200, 201), (answer.code, answer.body[:600])
            warnings = answer.headers.get("warning", "").replace('\\"', '"')
            assert (self.text in warnings) is expected, warnings


@attrs.frozen(slots=True)
class Shown:
    """Another test shows the rule: its full name, such as `tests.verbs.test_eviction.EvictionTests.test_budget`."""

    test: str

    def run(self, case: EntryCase, entry: Entry) -> None:
        """The test is there; that it passes is its own business."""
        module, name, method = self.test.rsplit(".", 2)
        found = getattr(getattr(import_module(module), name), method)
        assert callable(found) and method.startswith("test"), self.test


__all__ = ["GONE", "Accepted", "Base", "Changes", "Entry", "Example", "Refused", "Shown", "Stored", "Warned"]
