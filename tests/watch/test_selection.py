"""Selections: the objects that they match, and their index terms."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from orchtw.rules.selectors import NO_LABELS, parse_fields, parse_labels
from orchtw.watch.entry import Entry
from orchtw.watch.selection import (
    Selection,
    all_entries,
    by_field,
    by_key,
    by_label,
    by_name,
    by_namespace,
    by_namespaced_field,
    by_namespaced_label,
)

NAMES = ("spec.nodeName", "status.phase")
ALLOWED = ("metadata.name", "metadata.namespace", *NAMES)


def selection(namespace: str = "", labels: str = "", fields: str = "") -> Selection:
    """A selection of pods."""
    return Selection(namespace, parse_labels(labels), parse_fields(fields, ALLOWED), NAMES)


def pod(key: str, node: str = "", phase: str = "", **labels: str) -> Entry:
    """A pod with these selectable values."""
    namespace, name = key.split("/")
    return Entry(key, namespace, name, 1, labels, (node, phase), b"")


class MatchTests(SynchronousTestCase):
    def test_table(self) -> None:
        """Namespace, every field term and the label selector must all hold (reference READ-18, READ-20)."""
        here = pod("ns/a", "n1", "Running", app="web", tier="x")
        table = [
            (selection(), True),
            (selection("ns"), True),
            (selection("other"), False),
            (selection(fields="metadata.name=a"), True),
            (selection(fields="metadata.name!=a"), False),
            (selection(fields="metadata.namespace=ns,metadata.name=a"), True),
            (selection("ns", fields="metadata.namespace=other"), False),
            (selection(fields="spec.nodeName=n1"), True),
            (selection(fields="spec.nodeName="), False),
            (selection(fields="spec.nodeName!="), True),
            (selection(fields="spec.nodeName=n1,status.phase!=Running"), False),
            (selection(fields="spec.nodeName=n1,spec.nodeName=n2"), False),
            (selection(labels="app=web"), True),
            (selection(labels="app=web,tier=y"), False),
            (selection(labels="app=web,!missing"), True),
            (selection(labels="app in (web,api),tier"), True),
            (selection(labels="app!=web"), False),
            (selection("ns", "app=web", "status.phase=Running"), True),
            (Selection(labels=NO_LABELS), False),
        ]
        for chosen, expected in table:
            self.assertIs(chosen.matches(here), expected, f"{chosen}")

    def test_everything(self) -> None:
        """Only a selection without any condition is everything."""
        self.assertTrue(selection().everything)
        self.assertFalse(
            any(s.everything for s in (selection("ns"), selection(labels="a"), Selection(labels=NO_LABELS)))
        )

    def test_equal(self) -> None:
        """Equal conditions make equal selections, which share a group."""
        one, two = selection("ns", "a=b", "spec.nodeName=x"), selection("ns", "a=b", "spec.nodeName=x")
        self.assertEqual((one, hash(one)), (two, hash(two)))
        self.assertNotEqual(one, selection("ns", "a=b", "spec.nodeName=y"))


class TermTests(SynchronousTestCase):
    def test_table(self) -> None:
        """The term is the one with the fewest events: object, field value, label value, namespace, all."""
        table = [
            (selection(), all_entries, ""),
            (selection("ns"), by_namespace, "ns"),
            (selection(fields="metadata.namespace=ns"), by_namespace, "ns"),
            (selection(fields="metadata.name=a"), by_name, "a"),
            (selection("ns", fields="metadata.name=a"), by_key, "ns/a"),
            (selection(fields="metadata.name=a,metadata.namespace=ns"), by_key, "ns/a"),
            (selection(fields="spec.nodeName=n"), by_field(0), "n"),
            (selection("ns", "a=b", "status.phase=P"), by_namespaced_field(1), ("ns", "P")),
            (selection(fields="spec.nodeName!=n"), all_entries, ""),
            (selection(labels="a=b,c"), by_label, ("a", "b")),
            (selection("ns", labels="c,a in (b)"), by_namespaced_label, ("ns", ("a", "b"))),
            (selection("ns", labels="a"), by_namespace, "ns"),
        ]
        for chosen, indexer, term in table:
            self.assertEqual((chosen.indexer, chosen.term), (indexer, term), f"{chosen}")
