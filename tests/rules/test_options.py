"""Query and delete options (reference READ-4, WRITE-17, DEL-1)."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qs

from twisted.trial.unittest import SynchronousTestCase

from orchtw.errors import BadRequest, Invalid
from orchtw.naming.naming import Naming
from orchtw.rules import options, paging
from orchtw.wire.objects import Object

NAMING = Naming.orch()
TOKEN = paging.Tokens(b"k" * 32, NAMING).encode(7, "default/a", "/registry/pods/")
MATCH = "resourceVersionMatch: Forbidden: resourceVersionMatch"


def params(query: str) -> dict[str, list[str]]:
    return parse_qs(query, keep_blank_values=True)


def list_options(
    query: str, watch: bool = False, watch_list: options.WatchList = options.WatchList.UNKNOWN
) -> options.ListOptions:
    selectable = ("metadata.name", "metadata.namespace")
    return options.list_options(params(query), selectable, NAMING, watch=watch, watch_list=watch_list)


class ListOptionsTests(SynchronousTestCase):
    """Options of lists and watches (`list_options`)."""

    def test_consistency(self) -> None:
        """Version, match and limit have the meaning of the tables in reference READ-4 and READ-5."""
        for query, consistency, revision, limit in [
            ("", "latest", None, 0),
            ("unknown=1", "latest", None, 0),
            ("resourceVersion=", "latest", None, 0),
            ("resourceVersion=0", "any", 0, 0),
            ("resourceVersion=7", "not older", 7, 0),
            ("limit=5", "latest", None, 5),
            ("limit=-5", "latest", None, 0),
            ("limit=5&resourceVersion=0", "any", 0, 0),
            ("limit=5&resourceVersion=7", "exact", 7, 5),
            ("resourceVersion=7&resourceVersionMatch=Exact", "exact", 7, 0),
            ("limit=5&resourceVersion=7&resourceVersionMatch=Exact", "exact", 7, 5),
            ("resourceVersion=0&resourceVersionMatch=NotOlderThan", "any", 0, 0),
            ("resourceVersion=7&resourceVersionMatch=NotOlderThan", "not older", 7, 0),
            ("limit=5&resourceVersion=7&resourceVersionMatch=NotOlderThan", "not older", 7, 5),
            (f"limit=5&continue={TOKEN}", "continue", None, 5),
            (f"limit=5&continue={TOKEN}&resourceVersion=0", "continue", 0, 5),
        ]:
            found = list_options(query)
            self.assertEqual((found.consistency, found.revision, found.limit), (consistency, revision, limit), query)
            self.assertEqual(found.position, paging.decode(TOKEN, NAMING) if TOKEN in query else None)

    def test_bad_match(self) -> None:
        """Each rule about resourceVersionMatch that is broken is a cause of one 422 (reference READ-6)."""
        for query, watch, text in [
            ("resourceVersionMatch=Exact", False, f"{MATCH} is forbidden unless resourceVersion is provided"),
            (
                "resourceVersionMatch=Exact&resourceVersion=0",
                False,
                f'{MATCH} "exact" is forbidden for resourceVersion "0"',
            ),
            (
                f"resourceVersionMatch=Exact&resourceVersion=1&continue={TOKEN}",
                False,
                f"{MATCH} is forbidden when continue is provided",
            ),
            ("resourceVersionMatch=Exact&resourceVersion=1", True, f"{MATCH} is forbidden for watch"),
            (
                "resourceVersionMatch=foo&resourceVersion=1",
                False,
                'resourceVersionMatch: Unsupported value: "foo": supported values: "Exact", "NotOlderThan", ""',
            ),
        ]:
            error = self.assertRaises(Invalid, list_options, query, watch)
            self.assertEqual(error.message, f'ListOptions.meta.orch.io "" is invalid: {text}')
            assert error.details is not None
            self.assertEqual((error.details["group"], error.details["kind"]), ("meta.orch.io", "ListOptions"))
        error = self.assertRaises(Invalid, list_options, f"resourceVersionMatch=foo&continue={TOKEN}", True)
        assert error.details is not None
        self.assertEqual(len(error.details["causes"]), 4)

    def test_bad_values(self) -> None:
        """A value that cannot be parsed is a 400 (reference READ-7, READ-11)."""
        syntax = 'strconv.ParseUint: parsing "abc": invalid syntax'
        for query, message in [
            ("limit=a", 'strconv.ParseInt: parsing "a": invalid syntax'),
            ("limit=", 'strconv.ParseInt: parsing "": invalid syntax'),
            ("limit=9223372036854775808", 'strconv.ParseInt: parsing "9223372036854775808": value out of range'),
            ("timeoutSeconds=1.5", 'strconv.ParseInt: parsing "1.5": invalid syntax'),
            ("resourceVersion=abc", f'resourceVersion: Invalid value: "abc": {syntax}'),
            (
                "resourceVersion=abc&limit=1",
                f'invalid resource version: resourceVersion: Invalid value: "abc": {syntax}',
            ),
            (
                f"continue={TOKEN}&limit=1&resourceVersion=5",
                "specifying resource version is not allowed when using continue",
            ),
            ("labelSelector=a,=", "found '=', expected: identifier after ','"),
            (
                "fieldSelector=spec.x=1",
                '"spec.x" is not a known field selector: only "metadata.name", "metadata.namespace"',
            ),
        ]:
            self.assertEqual(self.assertRaises(BadRequest, list_options, query).message, message)

    def test_watch(self) -> None:
        """A watch has neither limit nor token; its time-out and bookmarks are kept (reference READ-11, REQ-19)."""
        found = list_options(f"limit=5&continue={TOKEN}&timeoutSeconds=30&allowWatchBookmarks=true", watch=True)
        self.assertEqual((found.limit, found.position, found.timeout_s, found.bookmarks), (0, None, 30, True))
        self.assertFalse(list_options("allowWatchBookmarks=false", watch=True).bookmarks)

    def test_initial_events(self) -> None:
        """sendInitialEvents needs a watch, a match and its gate; before 1.27 it is ignored (reference WATCH-21)."""
        on, off, unknown = options.WatchList.ON, options.WatchList.OFF, options.WatchList.UNKNOWN
        send, match = "sendInitialEvents=true", "resourceVersionMatch=NotOlderThan"
        requires = "resourceVersionMatch: Forbidden: sendInitialEvents requires setting resourceVersionMatch to"
        unless = f"{MATCH} is forbidden for watch unless sendInitialEvents is provided"
        gate = "sendInitialEvents: Forbidden: sendInitialEvents is forbidden for watch unless the WatchList feature"
        for query, watch, watch_list, texts in [
            (send, True, on, [f"{requires} NotOlderThan"]),
            (f"{send}&resourceVersionMatch=Exact&resourceVersion=1", True, on, [requires, "Unsupported value"]),
            (f"{send}&{match}", True, off, [f"{gate} gate is enabled"]),
            (match, True, on, [unless]),
            (match, True, off, [unless]),
            (f"{send}&{match}&continue=x", True, on, [f"{MATCH} is forbidden when continue is provided"]),
            (f"{send}&{match}&resourceVersion=1", False, on, ["sendInitialEvents is forbidden for list"]),
            (f"{match}&{send}", True, unknown, [f"{MATCH} is forbidden for watch"]),
        ]:
            error = self.assertRaises(Invalid, list_options, query, watch, watch_list)
            self.assertEqual((error.code, error.reason), (422, "Invalid"))
            for text in texts:
                self.assertIn(text, error.message, query)
        for query, watch_list, expected in [
            (f"{send}&{match}", on, True),
            (f"sendInitialEvents=false&{match}&resourceVersion=5", on, False),
            ("resourceVersion=5", on, None),
            (send, unknown, None),
        ]:
            self.assertIs(list_options(query, True, watch_list).initial_events, expected, query)

    def test_selective(self) -> None:
        """Any selector makes the list selective: the number of remaining items is then unknown
        (reference READ-14).
        """
        self.assertTrue(list_options("labelSelector=a").selective)
        self.assertTrue(list_options("fieldSelector=metadata.name%3Da").selective)
        self.assertFalse(list_options("labelSelector=&limit=4").selective)


class GetRevisionTests(SynchronousTestCase):
    """Parsing of resourceVersion (`get_revision`)."""

    def test_values(self) -> None:
        """Unset is the latest, a number is itself, anything else a 400 (reference READ-3, READ-7)."""
        self.assertEqual(options.get_revision({}), None)
        self.assertEqual(options.get_revision(params("resourceVersion=")), None)
        self.assertEqual(options.get_revision(params("resourceVersion=0")), 0)
        self.assertEqual(options.get_revision(params("resourceVersion=12")), 12)
        self.assertRaises(BadRequest, options.get_revision, params("resourceVersion=-1"))
        self.assertRaises(BadRequest, options.get_revision, params("resourceVersion=18446744073709551616"))


class WriteOptionsTests(SynchronousTestCase):
    """`create_options`, `update_options` and `patch_options`."""

    def test_values(self) -> None:
        """Options are read; a bare or empty dryRun is the ordinary request (reference WRITE-20)."""
        found = options.create_options(params("dryRun=All&fieldManager=m&fieldValidation=Strict"), NAMING)
        self.assertEqual(found, options.WriteOptions(dry_run=True, field_manager="m", field_validation="Strict"))
        self.assertFalse(options.create_options(params("dryRun"), NAMING).dry_run)
        self.assertFalse(options.update_options(params("dryRun="), NAMING).dry_run)
        self.assertEqual(options.update_options({}, NAMING), options.WriteOptions())

    def test_refusals(self) -> None:
        """Bad values are a 422 of the options' kind (reference WRITE-17, WRITE-20, WRITE-23)."""
        for query, text in [
            ("dryRun=foo", 'dryRun: Unsupported value: []string{"foo"}: supported values: "All"'),
            ("fieldManager=" + "x" * 129, "fieldManager: Too long: must have at most 128 bytes"),
            (
                "fieldManager=a%07",
                'fieldManager: Invalid value: "a\\a": invalid character U+0007 (at position 1)',
            ),
            (
                "fieldValidation=x",
                'fieldValidation: Unsupported value: "x": supported values: "", "Ignore", "Strict", "Warn"',
            ),
        ]:
            error = self.assertRaises(Invalid, options.create_options, params(query), NAMING)
            self.assertEqual(error.message, f'CreateOptions.meta.orch.io "" is invalid: {text}')

    def test_apply(self) -> None:
        """Apply needs a field manager and alone may force (reference PATCH-6)."""
        found = options.patch_options(params("fieldManager=m&force=true"), NAMING, apply=True)
        self.assertTrue(found.force)
        error = self.assertRaises(Invalid, options.patch_options, {}, NAMING, apply=True)
        self.assertEqual(
            error.message,
            'PatchOptions.meta.orch.io "" is invalid: fieldManager: Required value: is required for apply patch',
        )
        error = self.assertRaises(Invalid, options.patch_options, params("force=false"), NAMING, apply=False)
        self.assertEqual(
            error.message,
            'PatchOptions.meta.orch.io "" is invalid: force: Forbidden: may not be specified for non-apply patch',
        )

    def test_vocabulary(self) -> None:
        """The options' group is the served one."""
        error = self.assertRaises(Invalid, options.create_options, params("dryRun=x"), Naming.kubernetes())
        self.assertIn("CreateOptions.meta.k8s.io", error.message)


class DeleteOptionsTests(SynchronousTestCase):
    """Options of deletions (`delete_options`)."""

    def body(self, **fields: Any) -> options.DeleteOptions:
        return options.delete_options({}, {"kind": "DeleteOptions", "apiVersion": "v1", **fields}, NAMING)

    def test_body(self) -> None:
        """The body says everything when there is one (reference DEL-1)."""
        found = self.body(
            gracePeriodSeconds=5,
            propagationPolicy="Foreground",
            dryRun=["All"],
            preconditions={"uid": "u", "resourceVersion": "7"},
        )
        self.assertEqual(
            found,
            options.DeleteOptions(
                dry_run=True,
                grace_period_s=5,
                propagation="Foreground",
                precondition_uid="u",
                precondition_version="7",
            ),
        )
        self.assertIsNone(
            options.delete_options(params("gracePeriodSeconds=5"), {"kind": "X"}, NAMING).grace_period_s
        )

    def test_read_errors(self) -> None:
        """To ignore read errors excludes all other options, and is dropped without its gate (reference DEL-21)."""
        name = options.IGNORE_READ_ERRORS
        body = {name: True}
        self.assertTrue(options.delete_options({}, body, NAMING, unsafe=True).ignore_read_errors)
        self.assertTrue(options.delete_options(params(f"{name}=true"), None, NAMING, unsafe=True).ignore_read_errors)
        self.assertFalse(options.delete_options({}, {name: False}, NAMING, unsafe=True).ignore_read_errors)
        self.assertEqual(options.delete_options({}, body, NAMING), options.DeleteOptions())
        for other, value in (
            ("dryRun", ["All"]),
            ("propagationPolicy", "Orphan"),
            ("orphanDependents", False),
            ("gracePeriodSeconds", 0),
            ("preconditions", {}),
        ):
            with self.assertRaises(Invalid) as caught:
                options.delete_options({}, {**body, other: value}, NAMING, unsafe=True)
            text = f"{name}: Invalid value: true: cannot be set together with .{other}"
            self.assertTrue(caught.exception.message.endswith(text), caught.exception.message)

    def test_query(self) -> None:
        """Without a body the query is read."""
        query = "gracePeriodSeconds=0&propagationPolicy=Orphan&dryRun=All"
        self.assertEqual(
            options.delete_options(params(query), None, NAMING),
            options.DeleteOptions(dry_run=True, grace_period_s=0, propagation="Orphan"),
        )
        self.assertIs(options.delete_options(params("orphanDependents=false"), None, NAMING).orphan_dependents, False)
        self.assertRaises(BadRequest, options.delete_options, params("gracePeriodSeconds=x"), None, NAMING)

    def test_dry_run_of_the_query_beside_a_body(self) -> None:
        """The query's dryRun counts when the body has none; the body's wins (reference DEL-2)."""
        body = {"propagationPolicy": "Orphan"}
        self.assertTrue(options.delete_options(params("dryRun=All"), body, NAMING).dry_run)
        self.assertTrue(options.delete_options(params("dryRun=All"), {}, NAMING).dry_run)
        self.assertTrue(options.delete_options(params("dryRun=no"), {"dryRun": ["All"]}, NAMING).dry_run)
        self.assertRaises(Invalid, options.delete_options, params("dryRun=no"), body, NAMING)
        self.assertFalse(options.delete_options(params("dryRun"), body, NAMING).dry_run)

    def test_negative_grace(self) -> None:
        """A negative grace period is one second (reference DEL-3)."""
        self.assertEqual(self.body(gracePeriodSeconds=-3).grace_period_s, 1)

    def test_refusals(self) -> None:
        """An unknown policy, both ways of saying it, and an unknown dryRun are causes (reference DEL-3)."""
        cases: list[tuple[Object, str]] = [
            (
                {"propagationPolicy": "Orphan", "orphanDependents": True},
                'propagationPolicy: Invalid value: "Orphan": '
                "orphanDependents and deletionPropagation cannot be both set",
            ),
            (
                {"propagationPolicy": "x"},
                'propagationPolicy: Unsupported value: "x": '
                'supported values: "Foreground", "Background", "Orphan", "nil"',
            ),
            ({"dryRun": ["no"]}, 'dryRun: Unsupported value: []string{"no"}: supported values: "All"'),
        ]
        for fields, text in cases:
            error = self.assertRaises(Invalid, self.body, **fields)
            self.assertEqual(error.message, f'DeleteOptions.meta.orch.io "" is invalid: {text}')


class OtherParametersTests(SynchronousTestCase):
    """Other parameters (`include_object` and `request_timeout_s`)."""

    def test_include_object(self) -> None:
        """Rows carry metadata by default; unknown words are a 400 (reference TABLE-4)."""
        self.assertEqual(options.include_object({}), "Metadata")
        self.assertEqual(options.include_object(params("includeObject=Object")), "Object")
        self.assertEqual(
            self.assertRaises(BadRequest, options.include_object, params("includeObject=Foo")).message,
            "Unable to convert to Table as requested: includeObject: Invalid value: \"Foo\": must be 'Metadata', "
            "'Object', 'None', or empty",
        )

    def test_timeout(self) -> None:
        """A Go duration becomes seconds; absent, zero or negative means no timeout.

        Any other text is a 400 (reference REQ-18).
        """
        self.assertEqual(options.request_timeout_s(params("timeout=1m32s")), 92.0)
        for none in ("timeout=0s", "timeout=-1s", "timeout="):
            self.assertIsNone(options.request_timeout_s(params(none)))
        self.assertIsNone(options.request_timeout_s({}))
        for text in ("32", "x", "1s2"):
            error = self.assertRaises(BadRequest, options.request_timeout_s, params(f"timeout={text}"))
            self.assertEqual(error.message, "invalid timeout specified in the request URL")
