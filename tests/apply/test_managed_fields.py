"""Tests of `orchtw.apply.managed_fields` and `scale`."""

from __future__ import annotations

from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from orchtw.apply.field_set import FieldSet
from orchtw.apply.managed_fields import (
    ANCIENT_CHANGES,
    MAX_UPDATE_MANAGERS,
    Entry,
    FieldOwner,
    Managed,
    ManagedFieldsError,
    Owned,
    capped,
    decode,
    encode,
    is_reset,
    manager_name,
    with_old_times,
)
from orchtw.apply.merge_type import MapType
from tests.apply.merging import TYPE


def entry(manager: str, operation: str = "Update", version: str = "v1", **more: Any) -> Entry:
    return {
        "manager": manager,
        "operation": operation,
        "apiVersion": version,
        "time": "2022-01-01T00:00:00Z",
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:size": {}},
        **more,
    }


def type_of(api_version: str) -> MapType | None:
    return TYPE if api_version in ("v1", "v2") else None


class EntriesTests(SynchronousTestCase):
    def test_round_trip_keeps_entries(self) -> None:
        """Unchanged entries are the very objects that were read, in order."""
        entries = [entry("a", "Apply"), entry("b"), entry("b", version="v2"), entry("b", subresource="status")]
        out = encode(decode(entries, type_of))
        self.assertEqual([each["manager"] for each in out], ["a", "b", "b", "b"])
        self.assertTrue(all(any(each is old for old in entries) for each in out))

    def test_order(self) -> None:
        """Operation, time, manager, apiVersion, subresource (reference APPLY-7)."""
        entries = [
            entry("a", time="2022-01-03T00:00:00Z"),
            entry("c", version="v2"),
            entry("c", subresource="status"),
            entry("c"),
            entry("b"),
            entry("z", "Apply"),
        ]
        out = [
            (each["manager"], each["apiVersion"], each.get("subresource", ""))
            for each in encode(decode(entries, type_of))
        ]
        self.assertEqual(
            out,
            [
                ("z", "v1", ""),
                ("b", "v1", ""),
                ("c", "v1", ""),
                ("c", "v1", "status"),
                ("c", "v2", ""),
                ("a", "v1", ""),
            ],
        )

    def test_an_applier_has_one_entry_of_all_versions(self) -> None:
        """The version is part of an updater's identity, not of an applier's."""
        entries = [entry("a", "Apply"), entry("a", "Apply", "v2"), entry("a"), entry("a", version="v2")]
        self.assertEqual(len(decode(entries, type_of)), 3)

    def test_versions_no_longer_served_are_dropped(self) -> None:
        """Their entries are forgotten (reference APPLY-15)."""
        self.assertEqual(encode(decode([entry("a", version="v0")], type_of)), [])

    def test_unreadable_entries(self) -> None:
        """Another operation, no version, another or no type of fields, and bad fields are errors."""
        for bad in (
            entry("a", "Replace"),
            entry("a", version=""),
            entry("a", fieldsType=""),
            entry("a", fieldsType="FieldsV2"),
            entry("a", fieldsV1={"x": {}}),
            {},
        ):
            with self.subTest(bad):
                self.assertRaises(ManagedFieldsError, decode, [bad], type_of)

    def test_entries_are_in_canonical_form(self) -> None:
        """Keys stand in the order of the API's type, those without value are left out."""
        managed = {
            FieldOwner.updater("a", "v1", "status"): Owned(FieldSet.named("size"), "v1", "2022-01-01T00:00:00Z")
        }
        (made,) = encode(managed)
        self.assertEqual(
            list(made), ["manager", "operation", "apiVersion", "time", "fieldsType", "fieldsV1", "subresource"]
        )
        (bare,) = encode({FieldOwner.applier("a"): Owned(FieldSet.named("size"), "v1", None)})
        self.assertEqual(list(bare), ["manager", "operation", "apiVersion", "fieldsType", "fieldsV1"])

    def test_reset(self) -> None:
        """A list with one empty entry asks for a reset, an empty list does not (reference APPLY-12)."""
        values: list[Any] = [[{}], [], None, [{}, {}], [entry("a")]]
        asked = [is_reset(value) for value in values]
        self.assertEqual(asked, [True, False, False, False, False])

    def test_times_alone_are_no_change(self) -> None:
        """Entries that differ in times only come back as they were."""
        old = [entry("a")]
        self.assertIs(with_old_times([entry("a", time="2023-01-01T00:00:00Z")], old), old)
        new = [entry("b")]
        self.assertIs(with_old_times(new, old), new)


class CapTests(SynchronousTestCase):
    def _managed(self, count: int, version: str = "v1") -> Managed:
        return {
            FieldOwner.updater(f"m{n:02}", version): Owned(
                FieldSet.named(f"f{n}"), version, f"2022-01-{n + 1:02}T00:00:00Z"
            )
            for n in range(count)
        }

    def test_oldest_become_one(self) -> None:
        """Beyond ten update entries the oldest of a version are one of ancient-changes, with its latest time
        (reference APPLY-9).
        """
        managed = {
            **self._managed(MAX_UPDATE_MANAGERS + 2),
            FieldOwner.applier("z"): Owned(FieldSet.named("s"), "v1", None),
        }
        out = capped(managed)
        bucket = out[FieldOwner.updater(ANCIENT_CHANGES, "v1")]
        self.assertEqual(bucket.fields, FieldSet.named("f0", "f1", "f2"))
        self.assertEqual(bucket.time, "2022-01-03T00:00:00Z")
        self.assertEqual(len(out), MAX_UPDATE_MANAGERS + 1)
        again = capped(
            {**out, FieldOwner.updater("new", "v1"): Owned(FieldSet.named("n"), "v1", "2022-02-01T00:00:00Z")}
        )
        self.assertEqual(
            again[FieldOwner.updater(ANCIENT_CHANGES, "v1")].fields, FieldSet.named("f0", "f1", "f2", "f3")
        )

    def test_versions_are_not_mixed(self) -> None:
        """Each version has a bucket of its own, so that sets stay in the shape they were recorded in."""
        out = capped({**self._managed(6), **self._managed(6, "v2")})
        self.assertEqual(len(out), MAX_UPDATE_MANAGERS)
        for owner, owned in out.items():
            self.assertEqual(owner.api_version, owned.api_version)

    def test_ten_stay(self) -> None:
        """Up to the limit nothing changes."""
        managed = self._managed(MAX_UPDATE_MANAGERS)
        self.assertIs(capped(managed), managed)


class ManagerNameTests(SynchronousTestCase):
    def test_names(self) -> None:
        """The requested name wins; else the user agent's printable text before a slash names the manager.

        Names have at most 128 bytes (reference APPLY-11).
        """
        for asked, agent, name in (
            ("me", "curl/8", "me"),
            ("", "curl/8 (x)", "curl"),
            ("", "a\x07b\n/1", "ab"),
            ("", "", "unknown"),
            ("", "/x", "unknown"),
            ("", "x" * 200, "x" * 128),
            ("", "é" * 100, "é" * 64),
        ):
            with self.subTest(agent):
                self.assertEqual(manager_name(asked, agent), name)
