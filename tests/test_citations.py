"""Citations of rules: each refers to one rule of `docs/reference`, and none to a file outside the repository."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from twisted.trial.unittest import SynchronousTestCase

ROOT = Path(__file__).resolve().parent.parent
REFERENCE = ROOT / "docs" / "reference"
CITING = ("orchtw", "tests", "bench", "docs", "protos")
# Pages of which each rule is cited by a test.
TESTED = ("authentication.md",)
TEXTS = frozenset({".py", ".md", ".proto", ".yaml", ".yml", ".txt", ".html", ".js"})

# A rule begins its paragraph: `**WATCH-7** Events come ...`.
_RULE = re.compile(r"^\*\*([A-Z]+)-([1-9]\d*)\*\*(?=\s)", re.M)
# `(reference WATCH-7, READ-3)`, `reference WATCH-7 and READ-3`, `reference ERR-6 to ERR-9`.
_ID = r"[A-Z]+-\d+"
_CITATION = re.compile(rf"\breference\s+({_ID}(?:\s*(?:,|and|to)\s*{_ID})*)", re.I)
# Within the reference a bare id is a citation: `see WATCH-7`.
_BARE = re.compile(rf"(?<![\w*./-])({_ID})(?![\w*-])")
_LINK = re.compile(r"\]\(([\w./-]+\.md)[^)\s]*\)")
# Documents that the rules were gathered from, and notes of those who work on the code: nobody else can look them up.
# A word that comes up in lower case in each such citation spares most texts the search.
_FOREIGN = (
    ("seed", re.compile(r"\bseeds? [1-9]\b", re.I)),
    ("supplement", re.compile(r"\bsupplements? [A-Z]\d*\b|\bsections? of the supplement\b", re.I)),
    ("design", re.compile(r"\(DESIGN\b(?!-)|\bDESIGN,? (?:ground )?rule\b|\bDESIGN's\b")),
    ("pitfalls", re.compile(r"\bPITFALLS\b")),
    ("(style", re.compile(r"\(STYLE\b")),
    ("issue", re.compile(r"\bissue \d+\b|\(issue[: ]", re.I)),
    # `(A8)`, `(B1, B10)`, `(A12 step 2)`, also behind a rule; neither a call's argument nor a name such as `(X11)`.
    ("(", re.compile(r"(?<!\w)\((?:[^()\"'`]*[,;] )?[A-HZ][1-9]\d?\b(?!-)")),
    ("facts", re.compile(r"\((?:API )?facts\b|[,;] (?:API )?facts(?:\)|, )|\bfacts/")),
)
# Things that look like ids in the pages and are others' names.
_OTHERS = frozenset({"DNS", "SHA", "UTF"})


class Rule(NamedTuple):
    """A rule's id, and the page that has it."""

    prefix: str
    number: int
    page: str

    @property
    def id(self) -> str:
        """As it is cited."""
        return f"{self.prefix}-{self.number}"


def rules() -> list[Rule]:
    """All rules, page by page in their order."""
    return [
        Rule(found[1], int(found[2]), page.name)
        for page in sorted(REFERENCE.glob("*.md"))
        for found in _RULE.finditer(page.read_text())
    ]


def citing_files() -> Iterator[Path]:
    """Every text of the project that may cite a rule, but for this one."""
    for folder in CITING:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in TEXTS and path.is_file() and path != Path(__file__).resolve():
                yield path


def cited(text: str) -> Iterator[str]:
    """The ids that a text cites; a range stands for its two ends. Citations may go on in the next line."""
    unwrapped = re.sub(r"\n\s*#?\s*", " ", text)
    for found in _CITATION.finditer(unwrapped):
        yield from re.findall(_ID, found[1])


def leads_out(text: str) -> bool:
    """Report whether a text cites a document that is not in the repository."""
    lower = text.lower()
    return any(pattern.search(text) for word, pattern in _FOREIGN if word in lower)


class ReferenceTests(SynchronousTestCase):
    """The pages of the reference."""

    def test_unique(self) -> None:
        """No two rules have the same id, and no two pages the same prefix."""
        ids = [rule.id for rule in rules()]
        self.assertEqual(sorted(ids), sorted(set(ids)))
        pages = {(rule.prefix, rule.page) for rule in rules()}
        self.assertEqual(len(pages), len({prefix for prefix, _ in pages}))

    def test_ascending(self) -> None:
        """The rules of a page have one prefix and rising numbers."""
        for page in {rule.page for rule in rules()}:
            here = [rule for rule in rules() if rule.page == page]
            self.assertEqual(1, len({rule.prefix for rule in here}), page)
            numbers = [rule.number for rule in here]
            self.assertEqual(sorted(numbers), numbers, page)

    def test_index(self) -> None:
        """The index lists every page with its prefix."""
        index = (REFERENCE / "index.md").read_text()
        listed = dict(re.findall(r"\]\(([\w-]+\.md)\) \| ([A-Z]+) \|", index))
        self.assertEqual({rule.page: rule.prefix for rule in rules()}, listed)

    def test_links(self) -> None:
        """Every relative link of a page leads to a file."""
        for page in sorted(REFERENCE.glob("*.md")):
            for link in _LINK.findall(page.read_text()):
                self.assertTrue((page.parent / link).is_file(), f"{page.name}: {link}")

    def test_pages_cite_rules(self) -> None:
        """An id that a rule names is that of a rule."""
        known = {rule.id for rule in rules()}
        prefixes = {rule.prefix for rule in rules()}
        for page in sorted(REFERENCE.glob("*.md")):
            for found in _BARE.findall(page.read_text()):
                prefix = found.split("-")[0]
                if prefix not in _OTHERS:
                    self.assertIn(prefix, prefixes, f"{page.name}: {found}")
                    self.assertIn(found, known, f"{page.name}: {found}")


class CitationTests(SynchronousTestCase):
    """Docstrings, comments, tests, pages and protos."""

    def test_resolve(self) -> None:
        """Each citation leads to a rule."""
        known = {rule.id for rule in rules()}
        missing = [
            f"{path.relative_to(ROOT)}: {rule}"
            for path in citing_files()
            for rule in cited(path.read_text())
            if rule not in known
        ]
        self.assertEqual([], missing)

    def test_tested(self) -> None:
        """Each rule of these pages is shown by a test that names it."""
        named = {rule for path in (ROOT / "tests").rglob("test_*.py") for rule in _BARE.findall(path.read_text())}
        untested = [rule.id for rule in rules() if rule.page in TESTED and rule.id not in named]
        self.assertEqual([], untested)

    def test_many(self) -> None:
        """The search finds citations: a pattern that finds nothing would pass every other test."""
        found = {rule for path in citing_files() if path.suffix == ".py" for rule in cited(path.read_text())}
        self.assertGreater(len(found), 100)

    def test_none_lead_out(self) -> None:
        """No citation of a document that is not in the repository is left."""
        foreign = [
            f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
            for path in citing_files()
            if leads_out(text := path.read_text())
            for number, line in enumerate(text.splitlines(), 1)
            if leads_out(line)
        ]
        self.assertEqual([], foreign)

    def test_letter_and_number(self) -> None:
        """A letter and a number in parentheses lead out; arguments and names of other things do not."""
        for text, expected in (
            ("It ends (A8).", True),
            ("It ends (A12, step 2).", True),
            ("It ends (G10, controllers).", True),
            ("It ends (A1; A12", True),
            ("It ends (reference DEL-9, A12).", True),
            ("It ends (reference DEL-9, CTRL-10).", False),
            ("It ends (B-1).", False),
            ("kind(A1, name)", False),
            ('for name in ("a", "A1"):', False),
            ("Mozilla/5.0 (X11)", False),
        ):
            self.assertEqual(leads_out(text), expected, text)
