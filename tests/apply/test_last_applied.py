"""The annotation of client-side apply beside server-side apply (reference APPLY-29)."""

from __future__ import annotations

from typing import Any

import orjson
from twisted.trial.unittest import SynchronousTestCase

from orchtw.apply.field_set import FieldSet
from orchtw.apply.last_applied import (
    MAX_ANNOTATIONS_BYTES,
    annotation_names,
    refreshed,
    still_disputed,
)
from orchtw.apply.managed_fields import FieldOwner, Owned
from orchtw.apply.server_side_apply import FieldConflict
from orchtw.naming.naming import Naming
from tests.apply.merging import type_of_schema

NAMES = annotation_names(Naming.orch())
THEIRS = "kubectl.kubernetes.io/last-applied-configuration"
TYPE = type_of_schema(
    {
        "type": "object",
        "properties": {
            "apiVersion": {"type": "string"},
            "metadata": {
                "type": "object",
                "properties": {"annotations": {"type": "object", "additionalProperties": {"type": "string"}}},
            },
            "size": {"type": "integer"},
            "box": {"type": "object", "properties": {"width": {"type": "integer"}, "depth": {"type": "integer"}}},
        },
    }
)


def applied_before(applied: object, *, name: str = THEIRS, **live: Any) -> dict[str, Any]:
    """Return a live object whose annotation says that `applied` was applied last."""
    text = applied if isinstance(applied, str) else orjson.dumps(applied).decode()
    return {"apiVersion": "v1", "metadata": {"annotations": {name: text}}, **live}


class NamesTests(SynchronousTestCase):
    def test_both_spellings(self) -> None:
        """The annotation of unmodified clients is known under either vocabulary, after the own one."""
        own = "kubectl.orch.io/last-applied-configuration"
        self.assertEqual(annotation_names(Naming.orch()), (own, THEIRS))
        self.assertEqual(annotation_names(Naming.kubernetes()), (THEIRS,))


class DisputeTests(SynchronousTestCase):
    def disputed(self, live: dict[str, Any], *fields: str) -> list[str]:
        """Return those of the fields, owned by another manager, that are still in dispute."""
        owner = FieldOwner.updater("other", "v1")
        claimed = FieldSet.named(*fields)
        conflict = FieldConflict(owner, Owned(claimed, "v1", None), claimed)
        left = still_disputed([conflict], live, TYPE, "v1", NAMES)
        return [text for each in left for text in each.fields.texts()]

    def test_excused(self) -> None:
        """A field unchanged since it was last applied belongs to the current applier and is not disputed."""
        live = applied_before({"apiVersion": "v1", "size": 1}, size=1)
        self.assertEqual(self.disputed(live, "size"), [])

    def test_changed_since(self) -> None:
        """A field that another client has changed since is disputed."""
        live = applied_before({"apiVersion": "v1", "size": 1}, size=2)
        self.assertEqual(self.disputed(live, "size"), [".size"])

    def test_never_applied(self) -> None:
        """A field that was not applied is disputed beside one that was."""
        live = applied_before({"apiVersion": "v1", "size": 1}, size=1, box={"width": 1})
        self.assertEqual(self.disputed(live, "box.width", "size"), [".box.width"])

    def test_unusable_annotations(self) -> None:
        """A missing annotation, or one that is not such an object of this version, excuses nothing."""
        for live in (
            {"apiVersion": "v1", "size": 1},
            {"apiVersion": "v1", "metadata": {"annotations": None}, "size": 1},
            applied_before("no JSON", size=1),
            applied_before("", size=1),
            applied_before([1], size=1),
            applied_before({"apiVersion": "v2", "size": 1}, size=1),
            applied_before({"apiVersion": "v1", "size": "text"}, size=1),
            applied_before({"apiVersion": "v1", "size": 1}, name="other", size=1),
        ):
            self.assertEqual(self.disputed(live, "size"), [".size"], live)


class RefreshTests(SynchronousTestCase):
    def annotation(self, live: dict[str, Any], applied: dict[str, Any]) -> str | None:
        """The annotation after an apply."""
        found: str | None = refreshed(live, applied, NAMES)["metadata"]["annotations"].get(THEIRS)
        return found

    def test_text(self) -> None:
        """It says what was applied just now: keys in order, a line's end, what HTML would read escaped."""
        live = applied_before({})
        self.assertEqual(
            self.annotation(live, {"size": 1, "apiVersion": "<&>"}),
            '{"apiVersion":"\\u003c\\u0026\\u003e","size":1}\n',
        )

    def test_not_in_itself(self) -> None:
        """The applied object's own annotation of that name is left out; its other annotations are not."""
        applied = {"metadata": {"annotations": {THEIRS: "x", "note": "y"}, "name": "a"}}
        expected = '{"metadata":{"annotations":{"note":"y"},"name":"a"}}\n'
        self.assertEqual(self.annotation(applied_before({}), applied), expected)

    def test_same_object(self) -> None:
        """An object without the annotation, or which says so already, comes back itself."""
        plain: dict[str, Any] = {"metadata": {"annotations": {"note": "x"}}}
        self.assertIs(refreshed(plain, {"size": 1}, NAMES), plain)
        bare: dict[str, Any] = {"metadata": {}}
        self.assertIs(refreshed(bare, {"size": 1}, NAMES), bare)
        known = applied_before('{"size":1}\n')
        self.assertIs(refreshed(known, {"size": 1}, NAMES), known)

    def test_given_object_stays(self) -> None:
        """The object that was given is not changed."""
        live = applied_before({})
        before = orjson.dumps(live)
        refreshed(live, {"size": 1}, NAMES)
        self.assertEqual(orjson.dumps(live), before)

    def test_too_large(self) -> None:
        """With more than annotations may take, the annotation is dropped, and the others stay."""
        live = applied_before({})
        live["metadata"]["annotations"]["note"] = "x"
        found = refreshed(live, {"text": "y" * MAX_ANNOTATIONS_BYTES}, NAMES)
        self.assertEqual(found["metadata"]["annotations"], {"note": "x"})
