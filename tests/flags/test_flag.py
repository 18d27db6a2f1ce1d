"""Parsing and display of flags in general (reference FLAG-6)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from orchtw.flags.flag import (
    BOOLEAN,
    CLAIMS,
    DURATION,
    INTEGER,
    LIST,
    PAIRS,
    PATH,
    SWITCHES,
    TEXT,
    Flag,
    FlagKind,
    convert,
    help_text,
    scan,
    scan_mapping,
)


def flag(name: str, kind: FlagKind = TEXT, default: Any = "", *, short: str = "", section: str = "General") -> Flag:
    """Return a flag with a help text of its own."""
    return Flag(name=name, kind=kind, default=default, help=f"About {name}.", section=section, short=short)


FLAGS = (flag("name", short="n"), flag("verbose", BOOLEAN, False, short="v"), flag("level", INTEGER, 0, short="l"))


class ScanTests(SynchronousTestCase):
    def given(self, *arguments: str) -> dict[str, list[str]]:
        """Return the values that an argument list without problems gives."""
        found, problems = scan(arguments, FLAGS)
        self.assertEqual(problems, [])
        return found

    def problems(self, *arguments: str) -> list[str]:
        return scan(arguments, FLAGS)[1]

    def test_spellings(self) -> None:
        """A value stands behind "=", in the next word, or, after a single dash, in the same word."""
        for arguments in (["--name=a"], ["--name", "a"], ["-n", "a"], ["-na"], ["-n=a"]):
            self.assertEqual(self.given(*arguments), {"name": ["a"]}, arguments)

    def test_odd_values(self) -> None:
        """A value may be empty, have an "=" in it, or look like a flag."""
        self.assertEqual(self.given("--name="), {"name": [""]})
        self.assertEqual(self.given("--name=a=b"), {"name": ["a=b"]})
        self.assertEqual(self.given("--name", "--level"), {"name": ["--level"]})

    def test_booleans_stand_alone(self) -> None:
        """A boolean takes its value behind "=" only: the next word is another argument."""
        self.assertEqual(self.given("--verbose", "-v", "--verbose=false"), {"verbose": ["true", "true", "false"]})
        self.assertEqual(self.problems("--verbose", "false"), ['unexpected argument "false"'])

    def test_repeated(self) -> None:
        """All values of a flag are kept, in order."""
        self.assertEqual(self.given("-l1", "--name=a", "--level=2"), {"level": ["1", "2"], "name": ["a"]})

    def test_problems(self) -> None:
        """Every problem is a line of its own; valid flags beside it still count."""
        found, problems = scan(["word", "--name=a", "--other", "value", "-x", "-", "--level"], FLAGS)
        self.assertEqual(found, {"name": ["a"]})
        self.assertEqual(
            problems,
            ['unexpected argument "word"', "unknown flag: --other", "unknown flag: -x", 'unexpected argument "-"',
             "flag needs an argument: --level"],
        )  # fmt: skip


class KindTests(SynchronousTestCase):
    def parsed(self, kind: FlagKind, *texts: str) -> Any:
        """The value of a flag of a kind."""
        values, problems = convert({"x": texts}, [flag("x", kind)])
        self.assertEqual(problems, [])
        return values["x"]

    def refused(self, kind: FlagKind, *texts: str) -> str:
        """Return the reason for refusing a value."""
        values, (problem,) = convert({"x": texts}, [flag("x", kind)])
        self.assertEqual(values, {})
        self.assertTrue(problem.startswith(f'invalid argument "{texts[-1]}" for "--x" flag: '), problem)
        return problem.rpartition(" flag: ")[2]

    def test_last_value_counts(self) -> None:
        """Of a flag with one value the last one counts."""
        self.assertEqual(self.parsed(TEXT, "a", "b"), "b")
        self.assertEqual(self.parsed(INTEGER, "x", "2"), 2)

    def test_integers(self) -> None:
        """Integers are decimal and not negative."""
        self.assertEqual([self.parsed(INTEGER, text) for text in ("0", "007", "65536")], [0, 7, 65536])
        for text in ("", "-1", "1.5", "0x1", "1_000", "\u0661", " 1"):
            self.assertEqual(self.refused(INTEGER, text), "must be an integer of zero or more")

    def test_booleans(self) -> None:
        """Booleans are those of Go."""
        for text, value in (("1", True), ("t", True), ("TRUE", True), ("0", False), ("F", False), ("False", False)):
            self.assertIs(self.parsed(BOOLEAN, text), value)
        for text in ("", "yes", "tRUE", "2"):
            self.assertEqual(self.refused(BOOLEAN, text), "must be true or false")

    def test_durations(self) -> None:
        """Durations are those of Go, in seconds, and not negative."""
        for text, seconds in (("0", 0.0), ("250ms", 0.25), ("1.5h", 5400.0), ("5m0s", 300.0)):
            self.assertEqual(self.parsed(DURATION, text), seconds)
        for text in ("", "5", "-1s", "1 s", "s"):
            self.assertIn("must be a duration of zero or more", self.refused(DURATION, text))

    def test_paths(self) -> None:
        """An empty path parses as None."""
        self.assertEqual((self.parsed(PATH, "a/b"), self.parsed(PATH, "")), (Path("a/b"), None))

    def test_lists(self) -> None:
        """A list is given in one text or in several; spaces around its parts, and empty parts, are nothing."""
        self.assertEqual(self.parsed(LIST, "a, b", "c,,"), ("a", "b", "c"))
        self.assertEqual(self.parsed(LIST, ""), ())

    def test_pairs(self) -> None:
        """So are pairs, of which a key alone is true."""
        self.assertEqual(self.parsed(PAIRS, "a=1,b", "c = x=y"), (("a", "1"), ("b", "true"), ("c", "x=y")))

    def test_switches(self) -> None:
        """A switch needs its value."""
        self.assertEqual(self.parsed(CLAIMS, "a=1,b", "c=x=y", "a=2"), (("a", "2"), ("c", "x=y")))
        self.assertEqual(self.refused(CLAIMS, "a"), "malformed pair, expect string=string")
        self.assertEqual(self.parsed(SWITCHES, "a=true,b=false"), (("a", "true"), ("b", "false")))
        self.assertEqual(self.refused(SWITCHES, "a=true,b"), "missing bool value for b")


class MappingTests(SynchronousTestCase):
    def test_values(self) -> None:
        """A file's values are the texts that a command line would hold."""
        document = {"name": "a", "level": 5, "verbose": True, "list": ["a", 1, False], "pairs": {"k": True, "l": 1.5}}
        flags = (*FLAGS, flag("list", LIST), flag("pairs", PAIRS))
        found, problems = scan_mapping(document, flags, "f.yaml")
        self.assertEqual(problems, [])
        self.assertEqual(
            found,
            {"name": ["a"], "level": ["5"], "verbose": ["true"], "list": ["a", "1", "false"],
             "pairs": ["k=true", "l=1.5"]},
        )  # fmt: skip

    def test_empty(self) -> None:
        """An empty file says nothing."""
        self.assertEqual(scan_mapping(None, FLAGS, "f.yaml"), ({}, []))

    def test_problems(self) -> None:
        """Every problem names the file; valid settings beside it still count."""
        document: dict[object, Any] = {"other": 1, "name": None, "level": [[1]], "verbose": {"a": {}}, 5: "x"}
        found, problems = scan_mapping(document, FLAGS, "f.yaml")
        self.assertEqual(found, {})
        why = "must be a plain value, a list or a mapping of plain values"
        self.assertEqual(
            problems,
            ["f.yaml: unknown key: other", *(f'f.yaml: invalid value for key "{key}": {why}'
             for key in ("name", "level", "verbose")), "f.yaml: unknown key: 5"],
        )  # fmt: skip
        self.assertEqual(scan_mapping([1], FLAGS, "f.yaml")[1], ["f.yaml: must be a mapping of flag names to values"])


class HelpTests(SynchronousTestCase):
    def test_lines(self) -> None:
        """Each flag has a line with its kind and default in its section; sections follow the order of flags."""
        flags = (
            flag("a", short="x"), flag("b", DURATION, 300.0, section="Other"), flag("c", BOOLEAN, True),
            flag("d", LIST, ("p", "q")), flag("e", SWITCHES, (("k", "true"),)), flag("f", PATH, None),
        )  # fmt: skip
        self.assertEqual(
            [" ".join(line.split()) for line in help_text(flags).splitlines()],
            ["General flags:", "", "-x, --a string About a.", "--c About c. (default true)",
             "--d strings About d. (default p,q)", "--e mapStringBool About e. (default k=true)", "--f file About f.",
             "", "Other flags:", "", "--b duration About b. (default 5m0s)"],
        )  # fmt: skip
