"""Query parameters of the record."""

from __future__ import annotations

from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from orchtw.errors import BadRequest
from orchtw.history.origin import WriteOrigin
from orchtw.history.query import MOST_VALUES, Filters, RecordQuery, Span, number, text
from tests.history.records import record, resource

NOW_S = 1_700_000_000.0


def query(**params: str | list[str]) -> RecordQuery:
    """The query of these parameters."""
    given = {name: value if isinstance(value, list) else [value] for name, value in params.items()}
    return RecordQuery.of(given, NOW_S)


class ParameterTests(SynchronousTestCase):
    """Reading of query parameters."""

    def refused(self, **params: str | list[str]) -> str:
        """The message of the refusal."""
        error: BadRequest = self.assertRaises(BadRequest, query, **params)
        return error.message

    def test_nothing(self) -> None:
        """Without parameters, everything is wanted that is there now."""
        self.assertEqual(query(), RecordQuery(filters=Filters(), span=Span()))

    def test_bounds(self) -> None:
        """`since` and `until` are revisions, times or durations ago."""
        self.assertEqual(query(since="7", until="9").span, Span(after=7, upto=9))
        times = query(since="2023-11-14T22:13:00Z", until="2023-11-14T23:13:20.5+01:00").span
        self.assertEqual(times, Span(from_s=NOW_S - 20, until_s=NOW_S + 0.5))
        self.assertEqual(query(since="1m30s").span.from_s, NOW_S - 90)

    def test_switches(self) -> None:
        """Switches are on with `1`, `true` or nothing behind them."""
        self.assertEqual([query(follow=each).follow for each in ("1", "true", "TRUE", "", "0", "false")],
                         [True, True, True, True, False, False])  # fmt: skip
        self.assertEqual(self.refused(objects="yes"), 'objects: "yes" must be true or false')

    def test_unknown(self) -> None:
        """A misspelt filter is rejected, with the ones that there are."""
        message = self.refused(namepsace="a")
        self.assertTrue(message.startswith('unknown parameter "namepsace"; known are follow, generation, group,'))

    def test_hostile(self) -> None:
        """Malformed values are rejected with one short message, whatever they are."""
        bad = ("-1", "x", "１", "1e3", "9" * 19, "\x00", "\n", "9" * 5000, "0x10", "1.5", "2024-13-45T99:99:99Z", "h")
        for name in ("since", "until", "limit"):
            for value in (*bad, "") if name != "limit" else bad:
                message = self.refused(**{name: value})
                self.assertTrue(message.startswith(f"{name}: ") and "\n" not in message, message)
                self.assertLess(len(message), 400)
        self.assertIn("between 1 and", self.refused(limit="0"))
        self.assertIn("between 1 and", self.refused(limit="1000001"))
        self.assertIn("must be ADDED, MODIFIED, DELETED or FAULT", self.refused(type="added"))
        self.assertEqual(self.refused(limit=["1", "2"]), "limit: may be given once only")
        self.assertEqual(self.refused(follow="1", until="7"), "until: may not be given with follow")
        self.assertIn("at most", self.refused(name=[str(at) for at in range(MOST_VALUES + 1)]))

    def test_single_values(self) -> None:
        """Parameters of other answers are read the same way."""
        self.assertIsNone(number({}, "revision"))
        self.assertEqual((number({"revision": ["5"]}, "revision"), text({}, "path")), (5, ""))


class FilterTests(SynchronousTestCase):
    """Records that filters want."""

    def wants(self, given: Any = None, **params: str | list[str]) -> bool:
        """Report whether a record is wanted, by default a creation by jane."""
        found = query(**params)
        made = given or record(5, origin=WriteOrigin("jane", verb="patch", manager="kubectl"))
        return found.filters.wants(made) and found.span.includes(made)

    def test_names(self) -> None:
        """Objects are wanted by their names and the name of the resource; several values mean any of them."""
        self.assertTrue(self.wants(namespace="a", name="x", resource="configmaps"))
        self.assertTrue(self.wants(name=["y", "x"]))
        for other in ({"namespace": "b"}, {"name": "y"}, {"resource": "secrets"}, {"group": "apps"}):
            self.assertFalse(self.wants(**other))

    def test_groups(self) -> None:
        """A resource is named with or without its group."""
        deployments = resource("deployments", "apps")
        made = record(5, resource=deployments, key="/registry/apps/deployments/a/x")
        for name in ("deployments", "deployments.apps"):
            self.assertTrue(self.wants(made, resource=name, namespace="a", name="x", group="apps"))
        self.assertFalse(self.wants(made, resource="deployments.extensions"))

    def test_origins(self) -> None:
        """Records are wanted by user, verb, field manager and type."""
        self.assertTrue(self.wants(user="jane", verb="patch", manager="kubectl", type="ADDED"))
        for other in ({"user": "joe"}, {"verb": "create"}, {"manager": "helm"}, {"type": "DELETED"}):
            self.assertFalse(self.wants(**other))

    def test_unknown_manager(self) -> None:
        """A record whose manager only its object tells may be wanted."""
        self.assertTrue(self.wants(record(5), manager="helm"))

    def test_verb_without_request(self) -> None:
        """A write without a request has the verb that does the same."""
        self.assertTrue(self.wants(record(5), verb="create"))
        self.assertTrue(self.wants(record(5, value=None, previous=b"v"), verb="delete"))

    def test_spans(self) -> None:
        """A span ends with its revision or time."""
        self.assertTrue(self.wants(until="5"))
        self.assertFalse(self.wants(until="4"))
        self.assertTrue(self.wants(record(5, time=NOW_S - 10), since="10s", until="10s"))
        self.assertFalse(self.wants(record(5, time=NOW_S - 11), since="10s"))
        self.assertFalse(self.wants(record(5, time=NOW_S - 9), until="10s"))
