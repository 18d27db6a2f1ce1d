"""Checker of English constructions that make docstrings, comments, texts and docs hard to read.

`python -m tests.prose PATH...` prints one line for each finding; `tests.test_prose` allows none. Python files are
checked in their docstrings and comments, and outside of tests in all other strings, since these become errors, log
lines and help texts; protos, and the descriptions made of them, in the texts that documents of the API show.
"""

from __future__ import annotations

import ast
import io
import json
import re
import sys
import tokenize
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

import attrs

from tests.syntax_trees import nodes

FEWEST_WORDS: Final = 4
RIDDLE: Final = re.compile(r"(?:What|Whether|Which|Who|Whom|Whose|Whoever|Why|How)\b(?![^.]*\?)")
HELP_RIDDLE: Final = re.compile(r"(?:What|Whether|Which|Who|Whom|Whose|Whoever|Why|How(?! long))\b")
"""Openers that are rejected where a text describes one thing; "How long" opens the help of many a duration."""

CONSTRUCTIONS: Final = {
    "free relative": re.compile(
        r"(?:(?<=[.:;] )|^)(?:Who|Whom) [a-z][^.?]*\.|\b(?:by|for|to|of|from|with|and|or|than) whom? [a-z]"
        r"|\b(?i:who(?:m)?ever)\b"
    ),
    "predicate none": re.compile(r"(?<!there )\b(?:is|are|was|were|be|been) (?:none|nobody)\b"),
    "predicate no": re.compile(
        r"(?<![Tt]here\s)\b(?:is|are|was|were)\s+no\s+"
        r"(?!(?:longer|more|less|earlier|later|older|newer|larger|smaller|better|worse|exception|reason|secret)\b)\w"
    ),
}
STRING_CONSTRUCTIONS: Final = {
    "translated": re.compile(
        r"\b(?:further try|that is made|are believed|tells? the version|takes? nothing|looked after|is worked on|"
        r"brings? nothing|go(?:es)? the whole way|pods of (?:windows|linux)|"
        r"what (?:is|are|it|they|waits|stands|comes))\b",
        re.IGNORECASE,
    ),
}
"""Constructions that are rejected in strings, where a sentence stands alone: each reads as translated."""

HELP_CONSTRUCTIONS: Final = {
    "paraphrase": re.compile(r"\b(?:at a time|is asked (?:for|about)|share of|said to)\b", re.IGNORECASE)
}
"""Constructions that are rejected in help texts, beside those of strings."""

DESCRIPTION_CONSTRUCTIONS: Final = {
    "riddle": re.compile(r"\A(?:What|Whether|Which|Where|Who|Whom|Whose|Why|How)\b"),
    "telegraphic": re.compile(r"(?<![\w.,/])(?i:absent|empty|unset|zero|0)(?: or \w+)?:\s(?=[a-z])"),
    "translated": re.compile(
        r"\b(?:nobody|somebody|everybody|shall|beside|sub-resource|at a time|(?:is|are) asked|as one word for|"
        r"in a sentence for|tells? the|goes round)\b",
        re.IGNORECASE,
    ),
}
"""Constructions that are rejected in descriptions of the API, beside the others."""

PAGE_CONSTRUCTIONS: Final = {
    "subject clause": re.compile(
        r"(?:\A|(?<=\n\n)|(?<=[.:;!]\s)|(?<=[*-] )|(?<=\*\* ))"
        r"(?:(?:What|Whether|Which|Who|Whom|Whose|Why|How)\b(?![^.?!]*\?)|Where\b(?=[^,?!]*?[.!;](?:\s|\Z)))"
    ),
}
"""Constructions that are rejected in pages and news: the sentence names its subject only by what it does."""

_SHOWN: Final = frozenset(
    "about _about ConfigError info warn error critical failure add_argument add_parser counters counter gauges gauge "
    "histograms histogram Read ReadHistograms Single _query _calls _Pair".split()
)
"""Functions whose strings describe one thing to users, beside arguments named `help` and `description`."""

_TESTS: Final = Path(__file__).resolve().parent
_NEWS: Final = frozenset({".feature", ".bugfix", ".removal", ".doc", ".misc"})
_FENCE: Final = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
_CODE: Final = re.compile(r"`[^`]*`")
_NO_SENTENCE: Final = re.compile(r"^(?:#|\|).*$", re.MULTILINE)
_Documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
_Patterns = Mapping[str, re.Pattern[str]]


@attrs.frozen(slots=True)
class Finding:
    """One construction: the file and line (from 1) that hold it, its name, and the text that shows it."""

    path: Path
    line: int
    name: str
    text: str

    def __str__(self) -> str:
        """Format as `path:line: name: text`."""
        return f"{self.path}:{self.line}: {self.name}: {self.text}"


def findings(paths: Iterable[Path]) -> Iterator[Finding]:
    """Yield the findings in Python, .proto, Markdown and news files, descriptions, and folders of these."""
    for path in paths:
        for file in sorted(path.rglob("*")) if path.is_dir() else (path,):
            if file.suffix == ".py":
                yield from _in_python(file)
            elif file.suffix == ".md" or file.suffix in _NEWS:
                yield from _in_page(file)
            elif file.suffix == ".proto":
                yield from _in_proto(file)
            elif file.name == "descriptions.json":
                yield from _in_descriptions(file)


def _in_python(path: Path) -> Iterator[Finding]:
    source = path.read_text()
    quoted = path.resolve().is_relative_to(_TESTS)
    texts: set[ast.AST] = set()  # docstrings; a statement is walked before its value
    for node in nodes(ast.parse(source)):
        if isinstance(node, _Documented) and (text := ast.get_docstring(node)) is not None:
            yield from _in_docstring(path, node.body[0].lineno, text)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            texts.add(node.value)
        if isinstance(node, ast.Call):
            yield from _in_help(path, node)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and not quoted and node not in texts:
            yield from _in_text(path, node.lineno, node.value, CONSTRUCTIONS | STRING_CONSTRUCTIONS)
    # Tokens take half the time of everything here: they are looked for only where a comment may have a finding.
    if any(any(_in_text(path, 0, text)) for text in _perhaps_comments(source)):
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            if token.type == tokenize.COMMENT:
                yield from _in_text(path, token.start[0], token.string.lstrip("# "))


def _perhaps_comments(source: str) -> Iterator[str]:
    """Yield the rest of a line behind each hash: a comment, unless the hash is in a string."""
    for line in source.splitlines():
        for found in re.finditer("#", line):
            yield line[found.start() :].lstrip("# ")


def _in_docstring(path: Path, line: int, text: str) -> Iterator[Finding]:
    first = text.partition("\n")[0]
    if RIDDLE.match(text):
        yield Finding(path, line, "riddle", first)
    if len(text.split()) < FEWEST_WORDS:
        yield Finding(path, line, "empty docstring", first)
    yield from _in_text(path, line, _without_code(text))


def _in_help(path: Path, call: ast.Call) -> Iterator[Finding]:
    """Check a call's strings that describe one thing to users."""
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    shown = list(call.args) if name in _SHOWN else []
    shown += [each.value for each in call.keywords if each.arg in ("help", "description")]
    for node in shown:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            if HELP_RIDDLE.match(node.value):
                yield Finding(path, node.lineno, "riddle", node.value)
            yield from _in_text(path, node.lineno, node.value, HELP_CONSTRUCTIONS)


def _in_page(path: Path) -> Iterator[Finding]:
    text = _NO_SENTENCE.sub("", _without_code(path.read_text()))
    yield from _in_text(path, 1, _without_code(path.read_text()))
    yield from _in_text(path, 1, text, PAGE_CONSTRUCTIONS)


def _in_proto(path: Path) -> Iterator[Finding]:
    """Check the comments that have their line to themselves, each block as one text."""
    block: list[str] = []
    for number, line in enumerate([*path.read_text().splitlines(), ""], 1):
        text = line.strip()
        if text.startswith("//"):
            block.append(text.lstrip("/ "))
        elif block:
            yield from _in_description(path, number - len(block), "\n".join(block))
            block = []


def _in_descriptions(path: Path) -> Iterator[Finding]:
    """Check descriptions that are written one a line."""
    for number, line in enumerate(path.read_text().splitlines(), 1):
        text = json.loads("{" + line.strip().rstrip(",") + "}") if line.endswith(('"', '",')) else {}
        for each in text.values():
            yield from _in_description(path, number, each)
            if len(each.split()) < FEWEST_WORDS:
                yield Finding(path, number, "empty description", each)


def _in_description(path: Path, line: int, text: str) -> Iterator[Finding]:
    for patterns in (CONSTRUCTIONS, STRING_CONSTRUCTIONS, DESCRIPTION_CONSTRUCTIONS):
        yield from _in_text(path, line, text, patterns)


def _in_text(path: Path, line: int, text: str, constructions: _Patterns = CONSTRUCTIONS) -> Iterator[Finding]:
    for name, pattern in constructions.items():
        for found in pattern.finditer(text):
            shown = text[max(found.start() - 20, 0) : found.end() + 20].replace("\n", " ")
            yield Finding(path, line + text.count("\n", 0, found.start()), name, shown)


def _without_code(text: str) -> str:
    """Blank out code, and keep the number of lines."""
    text = _FENCE.sub(_newlines, text)
    return _CODE.sub(_newlines, text)


def _newlines(found: re.Match[str]) -> str:
    return "\n" * found[0].count("\n")


if __name__ == "__main__":
    for each in findings(map(Path, sys.argv[1:] or ("orchtw", "tests", "bench", "docs", "protos", "newsfragments"))):
        print(each)
