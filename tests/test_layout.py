"""Layout of the repository: top-level entries, imports for type checkers, names of classes."""

from __future__ import annotations

import ast
import subprocess
from collections import Counter
from collections.abc import Collection, Iterator
from graphlib import TopologicalSorter
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

ROOT = Path(__file__).resolve().parent.parent
TOP = {
    *(".ci", ".gitignore", "CHANGES.md", "README.md", "pyproject.toml", "setup.cfg", "setup.py"),
    *("bench", "docs", "examples", "newsfragments", "orchtw", "protos", "tests", "twisted"),
}
PACKAGE_ROOT = {"__init__.py", "__main__.py", "errors.py", "request.py", "server.py", "tap.py"}
MOST_TYPE_CHECKING_BLOCKS = 5
MOST_CLASSES_OF_A_NAME = 2


def modules() -> dict[str, ast.Module]:
    """Return the syntax tree of each module of the package by its dotted name."""
    paths = sorted((ROOT / "orchtw").rglob("*.py"))
    names = (".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__") for path in paths)
    return {name: ast.parse(path.read_text()) for name, path in zip(names, paths, strict=True)}


def trees() -> list[ast.Module]:
    """Return the syntax trees of all modules of the package."""
    return list(modules().values())


def imported(tree: ast.Module, known: Collection[str]) -> Iterator[str]:
    """Yield the modules of the package that one imports anywhere, in functions and for type checkers too."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            for each in node.names:
                name = f"{node.module}.{each.name}"
                yield name if name in known else node.module


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
        known = modules()
        graph = {name: {each for each in imported(tree, known) if each in known} for name, tree in known.items()}
        TopologicalSorter(graph).prepare()  # raises CycleError

    def test_type_checking(self) -> None:
        """Imports for type checkers alone, which may hide a circle or a slow start, are few."""
        blocks = [
            node
            for tree in trees()
            for node in ast.walk(tree)
            if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
        ]
        self.assertLessEqual(len(blocks), MOST_TYPE_CHECKING_BLOCKS)

    def test_class_names(self) -> None:
        """A public class name stands at most twice: it says whose the class is."""
        names = Counter(
            node.name
            for tree in trees()
            for node in tree.body
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
        )
        self.assertEqual([name for name, count in names.items() if count > MOST_CLASSES_OF_A_NAME], [])
