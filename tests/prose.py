"""Checker of English constructions that make docstrings, comments and docs hard to read.

`python -m tests.prose PATH...` prints one line for each finding; `tests.test_prose` allows none. Python files are
checked in their docstrings and comments, and in the strings that users read: help texts, log lines and errors.
"""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

import attrs

FEWEST_WORDS: Final = 4
RIDDLE: Final = re.compile(r"(?:What|Whether|Who|Whom|Whose|Whoever|How)\b(?![^.]*\?)")
CONSTRUCTIONS: Final = {
    "free relative": re.compile(
        r"(?:(?<=[.:;] )|^)(?:Who|Whom) [a-z][^.?]*\.|\b(?:by|for|to|of|from|with|and|or|than) whom? [a-z]"
        r"|\b(?i:who(?:m)?ever)\b"
    ),
    "predicate none": re.compile(r"(?<!there )\b(?:is|are|was|were|be|been) (?:none|nobody)\b"),
}
HELP_CONSTRUCTIONS: Final = {
    "translated": re.compile(
        r"\b(?:further try|at a time|is asked (?:for|about)|that is made|are believed|tells? the version|"
        r"takes? nothing|what (?:is|are|it|they|waits|stands|comes)|share of|said to|looked after)\b",
        re.IGNORECASE,
    ),
}
"""Constructions that are rejected in strings only: each reads as translated where a sentence stands alone."""

_SHOWN: Final = frozenset({"about", "_about", "ConfigError", "info", "warn", "error", "critical", "failure"})
"""Functions whose strings users read, beside arguments named `help` and `description`."""

_FENCE: Final = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
_CODE: Final = re.compile(r"`[^`\n]*`")
_Documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


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
    """Yield what is wrong in Python and Markdown files, and in those below folders."""
    for path in paths:
        for file in sorted(path.rglob("*")) if path.is_dir() else (path,):
            if file.suffix == ".py":
                yield from _in_python(file)
            elif file.suffix == ".md":
                yield from _in_text(file, 1, _without_code(file.read_text()))


def _in_python(path: Path) -> Iterator[Finding]:
    source = path.read_text()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, _Documented) and (text := ast.get_docstring(node)) is not None:
            yield from _in_docstring(path, node.body[0].lineno, text)
        if isinstance(node, ast.Call):
            yield from _in_strings(path, node)
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield from _in_text(path, token.start[0], token.string.lstrip("# "))


def _in_docstring(path: Path, line: int, text: str) -> Iterator[Finding]:
    first = text.partition("\n")[0]
    if RIDDLE.match(text):
        yield Finding(path, line, "riddle", first)
    if len(text.split()) < FEWEST_WORDS:
        yield Finding(path, line, "empty docstring", first)
    yield from _in_text(path, line, _without_code(text))


def _in_strings(path: Path, call: ast.Call) -> Iterator[Finding]:
    """Check the strings of a call that users read."""
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    shown = list(call.args) if name in _SHOWN else []
    shown += [each.value for each in call.keywords if each.arg in ("help", "description")]
    for argument in shown:
        for node in ast.walk(argument):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield from _in_text(path, node.lineno, node.value, CONSTRUCTIONS | HELP_CONSTRUCTIONS)


def _in_text(
    path: Path, line: int, text: str, constructions: Mapping[str, re.Pattern[str]] = CONSTRUCTIONS
) -> Iterator[Finding]:
    for name, pattern in constructions.items():
        for found in pattern.finditer(text):
            shown = text[max(found.start() - 20, 0) : found.end() + 20].replace("\n", " ")
            yield Finding(path, line + text.count("\n", 0, found.start()), name, shown)


def _without_code(text: str) -> str:
    """Blank out code, and keep the number of lines."""
    text = _FENCE.sub(lambda found: "\n" * found[0].count("\n"), text)
    return _CODE.sub("", text)


if __name__ == "__main__":
    for each in findings(map(Path, sys.argv[1:] or ("orchtw", "tests", "bench", "docs"))):
        print(each)
