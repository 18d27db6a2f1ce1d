"""Syntax of the regular expressions in schemas (reference CRD-27)."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from orchtw.rules.regular_expressions import fault

GOOD = (
    "", "a", "^a$", "a|b|", "(a)(?:b)(?P<name>c)", "(?i)a", "(?i:a)b", "(?s-m:a)", "[a-z]", "[^a-z]", "[]a]", "[a-]",
    "[[:alpha:]_]", r"[\d\-x]", r"\d+\.\w*", r"\pL\p{Greek}\P{^Lu}", r"\x41\x{1F600}", r"\Q(*\E", r"\A\z\b\B", "a{2}",
    "a{2,}", "a{2,3}?", "a{,3}", "{", "a*?", "a+?", "a??", "(a*)*", "a{1000}", r"\0\12", ".*", r"\/", "é+", "()",
    "(|a)*", "a]b}", "(" * 200 + ")" * 200,
)  # fmt: skip

BAD = {
    "(": "missing closing ): `(`",
    "(a": "missing closing ): `(a`",
    "a)": "unexpected ): `a)`",
    "*": "missing argument to repetition operator: `*`",
    "(*a)": "missing argument to repetition operator: `*`",
    "a|+": "missing argument to repetition operator: `+`",
    "(?i)*": "missing argument to repetition operator: `*`",
    "a**": "invalid nested repetition operator: `**`",
    "a{2}{3}": "invalid nested repetition operator: `{2}{3}`",
    "a{1001}": "invalid repeat count: `{1001}`",
    "a{3,2}": "invalid repeat count: `{3,2}`",
    "a{99999999999999999999}": "invalid repeat count: `{99999999999999999999}`",
    "[a": "missing closing ]: `[a`",
    "[": "missing closing ]: `[`",
    "[a-": "missing closing ]: `[a-`",
    "[z-a]": "invalid character class range: `z-a`",
    r"[a-\d]": r"invalid character class range: `a-\d`",
    "[[:nothing:]]": "invalid character class range: `[:nothing:]`",
    "(?=a)": "invalid or unsupported Perl syntax: `(?=`",
    "(?!a)": "invalid or unsupported Perl syntax: `(?!`",
    "(?<=a)": "invalid or unsupported Perl syntax: `(?<=`",
    "(?<n>a)": "invalid or unsupported Perl syntax: `(?<`",
    r"(a)\1": r"invalid escape sequence: `\1`",
    r"\y": r"invalid escape sequence: `\y`",
    r"\x{110000}": r"invalid escape sequence: `\x`",
    "\\": "trailing backslash at end of expression: ``",
    "(?P<a>x)(?P<a>y)": "duplicate capture group name: `a`",
    "(?P<a b>x)": "invalid named capture: `(?P<a b>`",
    "(?P<a": "invalid named capture: `(?P<a`",
}


class SyntaxTests(SynchronousTestCase):
    def test_good(self) -> None:
        """A pattern that matches in linear time has no fault."""
        self.assertEqual({pattern: fault(pattern) for pattern in GOOD}, dict.fromkeys(GOOD, ""))

    def test_bad(self) -> None:
        """Everything else is named, with the place."""
        self.assertEqual({pattern: fault(pattern) for pattern in BAD}, BAD)

    def test_prefixes(self) -> None:
        """Every prefix of a pattern is judged without an exception."""
        for pattern in (*GOOD, *BAD):
            for length in range(min(len(pattern), 40)):
                fault(pattern[:length])

    def test_deep(self) -> None:
        """A pattern that nests too deeply is refused."""
        self.assertIn("nests too deeply", fault("(" * 5000))
