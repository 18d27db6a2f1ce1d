"""Layout of the repository: top-level entries, imports for type checkers, names of classes, tests of modules."""

from __future__ import annotations

import ast
import re
import subprocess
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from tests.syntax_trees import nodes, parsed, statements

ROOT = Path(__file__).resolve().parent.parent
TOP = {
    *(".ci", ".gitignore", "CHANGES.md", "CONTRIBUTING.md", "MANIFEST.in", "README.md", "SECURITY.md"),
    *("constraints.txt", "pyproject.toml", "setup.cfg", "setup.py"),
    *("bench", "docs", "examples", "newsfragments", "orchtw", "protos", "tests", "twisted"),
}
PACKAGE_ROOT = {"__init__.py", "__main__.py", "errors.py", "request.py", "server.py", "tap.py"}
COMPOSERS = {
    *("orchtw.server", "orchtw.tap", "orchtw.testing.in_process"),
    *("orchtw.workers.handover", "orchtw.workers.supervisor"),  # which pass it to other processes
}
MOST_TYPE_CHECKING_BLOCKS = 5
MOST_CLASSES_OF_A_NAME = 2
MOST_LINES_WITHOUT_TEST = 80
LEAST_DISTINCTIVE = 8  # letters; shorter words come up in tests of anything
CLIENT = "orchtw.simulation."
# Folders of tests that are about more than one package.
ACROSS = {"bench", "definitions", "end_to_end", "fuzz", "validation"}
# `# covers: orchtw.a.b, orchtw.c.d`, between a test module's docstring and its imports.
_COVERS = re.compile(r"^# covers: (.+)$", re.M)
_QUOTED = re.compile(r'"""(?:.|\n)*?"""')
_IMPORT = re.compile(r"^[ \t]*from ((?:orchtw|tests)[\w.]*) import (?:\(([^)]*)\)|(.+))", re.M)
_COMMENT = re.compile(r"#.*")
_PUBLIC_CLASS = re.compile(r"^class ([A-Za-z]\w*)", re.M)


def sources(package: str = "orchtw") -> dict[str, str]:
    """Return the text of each module of a package by its dotted name."""
    paths = sorted((ROOT / package).rglob("*.py"))
    names = (".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__") for path in paths)
    return {name: path.read_text() for name, path in zip(names, paths, strict=True)}


def modules(package: str = "orchtw", with_text: str = "") -> dict[str, ast.Module]:
    """Return the syntax tree of each module of a package that has a text, by its dotted name."""
    return parsed({name: source for name, source in sources(package).items() if with_text in source})


def imported(source: str, known: Collection[str]) -> Iterator[str]:
    """Yield the modules of the project that one imports anywhere, in functions and for type checkers too.

    Syntax trees of all modules would take ten times as long.
    """
    for package, bracketed, plain in _IMPORT.findall(_QUOTED.sub("", source)):
        for each in filter(str.strip, _COMMENT.sub("", bracketed or plain).split(",")):
            name = f"{package}.{each.split()[0]}"
            yield name if name in known else package


def graph_of(known: Mapping[str, str]) -> dict[str, set[str]]:
    """Return the modules that each one of `known`, texts by dotted name, imports of them."""
    return {name: {each for each in imported(source, known) if each in known} for name, source in known.items()}


def with_helpers(test: str, graph: Mapping[str, Collection[str]]) -> set[str]:
    """Return a test module and the helpers in its folder that it imports, by way of each other too."""
    folder = test.rpartition(".")[0]
    found, waiting = {test}, [test]
    while waiting:
        fresh = {each for each in graph[waiting.pop()] if each.rpartition(".")[0] == folder} - found
        found |= fresh
        waiting += fresh
    return found


def with_private_parts(subjects: set[str], graph: Mapping[str, Collection[str]]) -> set[str]:
    """Return modules and their private parts: those that only they, or other private parts, import."""
    users: dict[str, set[str]] = {}
    for name, found in graph.items():
        for each in found:
            if not name.startswith("tests."):
                users.setdefault(each, set()).add(name)
    found = set(subjects)
    while fresh := {name for name, by in users.items() if name not in found and by <= found}:
        found |= fresh
    return found


def texts(found: Sequence[ast.AST]) -> Iterator[str]:
    """Yield the literal texts among the nodes of a module, without its docstrings."""
    prose = {id(node.value) for node in found if isinstance(node, ast.Expr)}
    for node in found:
        if isinstance(node, ast.Constant) and id(node) not in prose:
            if isinstance(node.value, bytes):
                yield node.value.decode("latin-1")
            elif isinstance(node.value, str):
                yield node.value


@cache
def distinctive(source: str) -> set[str]:
    """Return the long words and texts of a module: names that it defines, messages, fields, flags."""
    named, found = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef), nodes(ast.parse(source))
    names = {node.name for node in found if isinstance(node, named) and not node.name.startswith("_")}
    return {each for each in (*names, *map(str.strip, texts(found))) if len(each) >= LEAST_DISTINCTIVE}


def written(source: str) -> str:
    """Return everything that a test module says: its names, and its literal texts."""
    found = nodes(ast.parse(source))
    names = [node.id for node in found if isinstance(node, ast.Name)]
    names += [node.attr for node in found if isinstance(node, ast.Attribute)]
    return "\n".join((*names, *texts(found)))


def is_said(text: str, words: str) -> bool:
    """Report whether a text stands in others as whole words."""
    return text in words and re.search(rf"(?<!\w){re.escape(text)}(?!\w)", words) is not None


def covered() -> Iterator[tuple[str, str]]:
    """Yield each test module that has lines `# covers:`, with each of the modules that they name."""
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        head = path.read_text().partition("\nfrom __future__")[0]
        test = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        for line in _COVERS.findall(head):
            yield from ((test, name) for name in line.split(", "))


def unused(named: Mapping[str, Sequence[str]], known: Mapping[str, str]) -> Iterator[str]:
    """Yield the test and the module of each line `# covers:` whose test does not use what it names.

    `known` has the text of each module.
    """
    graph = graph_of(known)
    # The simulation is a client: that it writes a field too takes nothing from the module with the field's rules.
    rules = [text for name, text in known.items() if not name.startswith((CLIENT, "tests"))]
    for test, names in named.items():
        beside = with_helpers(test, graph)
        subjects = with_private_parts({each for one in beside for each in graph[one]}, graph)
        if set(names) <= subjects:
            continue
        words = "\n".join(written(known[each]) for each in beside)
        for name in set(names) - subjects:
            said = (text for text in distinctive(known[name]) if is_said(text, words))
            if not any(sum(text in rule and text in distinctive(rule) for rule in rules) <= 1 for text in said):
                yield f"{test}: {name}"


class LayoutTests(SynchronousTestCase):
    """The tree as docs/architecture.md draws it."""

    def test_top_level(self) -> None:
        """The repository has no other top-level entry than those that are listed here."""
        listed = subprocess.run(
            ("git", "-c", "safe.directory=*", "ls-files"), cwd=ROOT, capture_output=True, text=True, check=True
        )
        self.assertEqual({name.partition("/")[0] for name in listed.stdout.splitlines()}, TOP)

    def test_package_root(self) -> None:
        """Modules live in packages, but for entry points, requests and errors."""
        self.assertEqual({path.name for path in (ROOT / "orchtw").glob("*.py")}, PACKAGE_ROOT)

    def test_circles(self) -> None:
        """No module imports itself by way of others, not even for type checkers or inside a function."""
        TopologicalSorter(graph_of(sources())).prepare()  # raises CycleError

    def test_options(self) -> None:
        """Packages take the options of their subject; only those that put a server together see all settings."""
        users = {
            name
            for name, tree in modules(with_text="Config").items()
            for node in statements(tree)
            if isinstance(node, ast.ImportFrom) and node.module in ("orchtw.config", "orchtw.config.settings")
            if any(each.name == "Config" for each in node.names)
        }
        others = {name for name in users if not name.startswith(("orchtw.assembly.", "orchtw.config"))}
        self.assertEqual(others, COMPOSERS)

    def test_type_checking(self) -> None:
        """Imports for type checkers alone, which may hide a circle or a slow start, are few."""
        blocks = [
            node
            for tree in modules(with_text="TYPE_CHECKING").values()
            for node in statements(tree)
            if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
        ]
        self.assertLessEqual(len(blocks), MOST_TYPE_CHECKING_BLOCKS)

    def test_class_names(self) -> None:
        """A public class name stands at most twice: it says whose the class is."""
        unquoted = (_QUOTED.sub("", source) for source in sources().values())
        names = Counter(name for source in unquoted for name in _PUBLIC_CLASS.findall(source))
        self.assertEqual([name for name, count in names.items() if count > MOST_CLASSES_OF_A_NAME], [])


class MirrorTests(SynchronousTestCase):
    """The tree of tests/ against that of orchtw/."""

    def test_folders(self) -> None:
        """A folder of tests has the name and the place of a package, or is about several packages."""
        folders = {path.parent.relative_to(ROOT / "tests") for path in (ROOT / "tests").rglob("test_*.py")}
        packages = {path.parent.relative_to(ROOT / "orchtw") for path in (ROOT / "orchtw").rglob("*.py")}
        self.assertEqual([str(each) for each in folders - packages if each.parts[0] not in ACROSS], [])

    def test_modules(self) -> None:
        """A module of more than 80 lines has its test in the same place of tests/, or a test that names it in a line
        `# covers:`.
        """
        named = {name for _, name in covered()}
        missing = []
        for path in sorted((ROOT / "orchtw").rglob("*.py")):
            place = path.relative_to(ROOT / "orchtw")
            if path.name != "__init__.py" and len(path.read_text().splitlines()) > MOST_LINES_WITHOUT_TEST:
                name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
                mirrored = (ROOT / "tests" / place).with_name(f"test_{path.name}")
                missing += [name] * (name not in named and not mirrored.is_file())
        self.assertEqual(missing, [])

    def test_covered(self) -> None:
        """A line `# covers:` names modules that are there and that its test uses.

        The test, or a helper beside it, imports the module or all that import it; or else it says what only that
        module has: a name, message, field or flag. End-to-end tests run commands and servers in processes of their
        own: they need not import what they exercise.
        """
        known = {**sources(), **sources("tests")}
        named: dict[str, list[str]] = {}
        for test, name in covered():
            named.setdefault(test, []).append(name)
        self.assertEqual([name for names in named.values() for name in names if name not in known], [])
        inside = {test: names for test, names in named.items() if not test.startswith("tests.end_to_end.")}
        self.assertEqual(list(unused(inside, known)), [])
