"""Records as text, and terminals (reference OPS-20)."""
# covers: orchtw.commands.record.terminal

from __future__ import annotations

import io
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from orchtw.commands.record.terminal import Style, harmless
from orchtw.commands.record.text import difference_lines, record_lines, record_text, table
from tests.exports.records import existing, record

PLAIN, COLOURED = Style(), Style(coloured=True)


class Terminal(io.StringIO):
    """A terminal with an encoding."""

    def __init__(self, encoding: str = "UTF-8", *, terminal: bool = True) -> None:
        super().__init__()
        self._encoding, self._terminal = encoding, terminal

    @property
    def encoding(self) -> str:  # type: ignore[override]
        """The encoding of the terminal."""
        return self._encoding

    def isatty(self) -> bool:
        """Report whether it is one."""
        return self._terminal


class StyleTests(SynchronousTestCase):
    """Colours and signs by the output."""

    def test_colours(self) -> None:
        """Colours are for terminals, unless NO_COLOR or the terminal says otherwise; an option decides."""
        for stream, wanted, environ, coloured in (
            (Terminal(), "auto", {"TERM": "xterm"}, True),
            (Terminal(), "auto", {"NO_COLOR": "1", "TERM": "xterm"}, False),
            (Terminal(), "auto", {"NO_COLOR": "", "TERM": "xterm"}, True),
            (Terminal(), "auto", {"TERM": "dumb"}, False),
            (Terminal(terminal=False), "auto", {"TERM": "xterm"}, False),
            (Terminal(terminal=False), "always", {"NO_COLOR": "1"}, True),
            (Terminal(), "never", {"TERM": "xterm"}, False),
        ):
            self.assertEqual(Style.of(stream, wanted, environ).coloured, coloured, (wanted, environ))

    def test_signs(self) -> None:
        """Signs beyond ASCII are replaced where the output cannot hold them."""
        for encoding, arrow in (("UTF-8", "→"), ("utf8", "→"), ("ascii", "->"), ("ISO-8859-1", "->")):
            self.assertEqual(Style.of(Terminal(encoding), "auto", {}).sign("→"), arrow)

    def test_harmless(self) -> None:
        """Control characters, which a terminal would obey, are escaped; letters of any language are not."""
        self.assertEqual(harmless("a\x1b[31mb\r\n\x9b\u202e\udc80"), r"a\u001b[31mb\u000d\u000a\u009b\u202e\udc80")
        self.assertEqual(harmless("größe 大"), "größe 大")
        self.assertEqual(harmless("\U000e0001"), r"\U000e0001")

    def test_values(self) -> None:
        """Values are JSON on one line, truncated in lists."""
        self.assertEqual(PLAIN.value({"a": "b\n\x9b"}), r'{"a":"b\n\u009b"}')
        self.assertEqual(len(PLAIN.value("x" * 200)), 81)
        self.assertEqual(len(PLAIN.value("x" * 200, 0)), 202)


class TextTests(SynchronousTestCase):
    """Records and differences as lines."""

    def lines(self, **members: Any) -> list[str]:
        """The lines of a record in a list."""
        return list(record_lines(record(**members), PLAIN))

    def test_update(self) -> None:
        """One line says when, who and what, and one for each change says how."""
        changes = [("$.data.x", "1", "2"), ('$.metadata.labels["a/b"]', None, "c"), ("$.data.y", [1], None)]
        self.assertEqual(self.lines(changes=changes), [
            "12:34:56.123      7 jane updated configmap a/x (kubectl-edit, kubectl/v1.24)",
            '    ~ data.x: "1" → "2"',
            '    + metadata.labels["a/b"]: "c"',
            "    - data.y: [1]",
        ])  # fmt: skip

    def test_words(self) -> None:
        """The verb and the sub-resource are named; a deletion that waits is told from one that is done."""
        for word, members in (
            ("jane created configmap a/x", {"kind": "ADDED", "verb": "create"}),
            ("jane deleted configmap a/x", {"kind": "DELETED", "verb": "delete"}),
            ("jane marked for deletion configmap a/x", {"verb": "delete"}),
            ("jane patched status of configmap a/x", {"verb": "patch", "subresource": "status"}),
            ("(unknown) updated configmap a/x", {"user": ""}),
        ):
            self.assertIn(word, self.lines(**members)[0])
        named = self.lines(group="apps", namespace="", **{"name": "y"})[0]
        self.assertIn(" configmap.apps y ", named)

    def test_deleted(self) -> None:
        """The fields of a deleted object are not listed."""
        self.assertEqual(len(self.lines(kind="DELETED")), 1)

    def test_many_changes(self) -> None:
        """A long list of changes is cut, and says how to see the rest."""
        lines = self.lines(changes=[(f"$.data.x{at}", "1", "2") for at in range(15)])
        self.assertEqual((len(lines), lines[-1]), (12, "    … 5 more: show 7"))

    def test_fault_and_unreadable(self) -> None:
        """A fault that struck the write, and an object that cannot be read, are shown."""
        lines = self.lines(fault="rule-7", unreadable="no key", changes=[])
        self.assertIn("[fault rule-7]", lines[0])
        self.assertEqual(lines[1], "    no key")

    def test_fault_alone(self) -> None:
        """A fault after which nothing was stored is one line, with its request, rule and answer."""
        fault = record("FAULT", fault="conflict-1", answer="409 Conflict", subresource="status", changes=[])
        (line,) = record_lines(fault, PLAIN)
        self.assertIn(" jane update status of configmap a/x ", line)
        self.assertTrue(line.endswith("[fault conflict-1: 409 Conflict]"), line)
        fault = record("FAULT", fault="late-1", answer="200", changes=[])
        (line,) = record_lines({**fault, "kind": "", "resource": "things"}, PLAIN)
        self.assertIn(" jane update things a/x ", line)

    def test_hostile(self) -> None:
        """No name, value or path can reach the terminal as more than text."""
        evil = "\x1b]0;evil\x07"
        changes = [(f"$.data[{evil}]", evil, {evil: evil})]
        made = record(changes=changes, user=evil, userAgent=evil, manager=evil, name=evil, namespace=evil,
                      subresource=evil, fault=evil, unreadable=evil, uid=evil, auditID=evil, time=evil)  # fmt: skip
        for lines in (record_lines(made, PLAIN), record_text(made, PLAIN), difference_lines(made, PLAIN)):
            text = "\n".join(lines)
            self.assertNotIn("\x1b", text)
            self.assertNotIn("\x07", text)

    def test_whole(self) -> None:
        """One record is shown with everything that is known of it, and its values at full length."""
        text = "\n".join(record_text(record(changes=[("$.data.x", "1", "2" * 200)]), PLAIN))
        for part in ("Revision:   7", "Time:       2024-05-01T12:34:56.123456Z", "User agent: kubectl/v1.24 (linux)",
                     "Object:     configmap a/x, v1, uid u-1", "2" * 200):  # fmt: skip
            self.assertIn(part, text)
        self.assertNotIn("Fault", text)

    def test_differences(self) -> None:
        """Objects that differ are listed with a mark; those that are new or gone without their fields."""
        self.assertEqual(list(difference_lines(record("ADDED"), PLAIN)), ["+ configmap a/x"])
        self.assertEqual(list(difference_lines(record("DELETED"), PLAIN)), ["- configmap a/x"])
        self.assertEqual(list(difference_lines(record(), PLAIN)), ["~ configmap a/x", '    ~ data.x: "1" → "2"'])

    def test_colours(self) -> None:
        """With colours, the text is the same between them."""
        for lines in (record_lines, record_text, difference_lines):
            coloured = "\n".join(lines(record(), COLOURED))
            self.assertIn("\x1b[33m", coloured)
            for code in ("0", "1", "2", "31", "32", "33", "36"):
                coloured = coloured.replace(f"\x1b[{code}m", "")
            self.assertEqual(coloured, "\n".join(lines(record(), PLAIN)))

    def test_table(self) -> None:
        """A table lists objects by their names."""
        lines = list(table([existing("pods", "p", namespace="ns", kind="Pod"), existing("nodes", "n", kind="Node")]))
        self.assertEqual(lines, ["NAMESPACE  OBJECT  REVISION", "ns         pod/p   3", "           node/n  3"])
