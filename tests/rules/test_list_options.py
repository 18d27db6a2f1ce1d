"""Options of lists and watches (reference READ-4, READ-6, WATCH-21)."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from orchtw.errors import BadRequest, Invalid
from orchtw.naming.naming import Naming
from orchtw.rules import continue_token
from orchtw.rules.list_options import ListOptions, list_options
from orchtw.rules.resource_version_match import WatchList
from tests.rules.queries import params

NAMING = Naming.orch()
TOKEN = continue_token.Tokens(b"k" * 32, NAMING).encode(7, "default/a", "/registry/pods/")
MATCH = "resourceVersionMatch: Forbidden: resourceVersionMatch"


def parsed(query: str, watch: bool = False, watch_list: WatchList = WatchList.UNKNOWN) -> ListOptions:
    selectable = ("metadata.name", "metadata.namespace")
    return list_options(params(query), selectable, NAMING, watch=watch, watch_list=watch_list)


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
            found = parsed(query)
            self.assertEqual((found.consistency, found.revision, found.limit), (consistency, revision, limit), query)
            self.assertEqual(found.position, continue_token.decode(TOKEN, NAMING) if TOKEN in query else None)

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
            error = self.assertRaises(Invalid, parsed, query, watch)
            self.assertEqual(error.message, f'ListOptions.meta.orch.io "" is invalid: {text}')
            assert error.details is not None
            self.assertEqual((error.details["group"], error.details["kind"]), ("meta.orch.io", "ListOptions"))
        error = self.assertRaises(Invalid, parsed, f"resourceVersionMatch=foo&continue={TOKEN}", True)
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
            self.assertEqual(self.assertRaises(BadRequest, parsed, query).message, message)

    def test_watch(self) -> None:
        """A watch has neither limit nor token; its time-out and bookmarks are kept (reference READ-11, REQ-19)."""
        found = parsed(f"limit=5&continue={TOKEN}&timeoutSeconds=30&allowWatchBookmarks=true", watch=True)
        self.assertEqual((found.limit, found.position, found.timeout_s, found.bookmarks), (0, None, 30, True))
        self.assertFalse(parsed("allowWatchBookmarks=false", watch=True).bookmarks)

    def test_initial_events(self) -> None:
        """sendInitialEvents needs a watch, a match and its gate; before 1.27 it is ignored (reference WATCH-21)."""
        on, off, unknown = WatchList.ON, WatchList.OFF, WatchList.UNKNOWN
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
            error = self.assertRaises(Invalid, parsed, query, watch, watch_list)
            self.assertEqual((error.code, error.reason), (422, "Invalid"))
            for text in texts:
                self.assertIn(text, error.message, query)
        for query, watch_list, expected in [
            (f"{send}&{match}", on, True),
            (f"sendInitialEvents=false&{match}&resourceVersion=5", on, False),
            ("resourceVersion=5", on, None),
            (send, unknown, None),
        ]:
            self.assertIs(parsed(query, True, watch_list).initial_events, expected, query)

    def test_selective(self) -> None:
        """Any selector makes the list selective: the number of remaining items is then unknown
        (reference READ-14).
        """
        self.assertTrue(parsed("labelSelector=a").selective)
        self.assertTrue(parsed("fieldSelector=metadata.name%3Da").selective)
        self.assertFalse(parsed("labelSelector=&limit=4").selective)
