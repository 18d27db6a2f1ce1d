"""English of the sources and the handbook: no construction that `tests.prose` lists."""

from __future__ import annotations

from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from tests.prose import findings

ROOT = Path(__file__).resolve().parent.parent
CHECKED = ("orchtw", "tests", "bench", "docs", "examples", "README.md", "CHANGES.md", "newsfragments")

BAD = '''"""Whether a lock is held."""

class Lock:
    """A lock."""  # refuses what is none

def hold() -> None:
    """Hold the lock for whoever asks. Who asks twice waits."""
'''


class ProseTests(SynchronousTestCase):
    """Docstrings, comments and pages, and the checker itself."""

    def test_project(self) -> None:
        """Docstrings, comments and pages of the project have no finding."""
        found = [str(each) for each in findings(ROOT / name for name in CHECKED)]
        self.assertEqual(found, [])

    def test_constructions(self) -> None:
        """Each construction is found where it stands, and code is not looked at."""
        path = Path(self.mktemp()).with_suffix(".py")
        path.write_text(BAD)
        found = [(each.line, each.name) for each in findings([path])]
        self.assertEqual(
            sorted(found),
            [(1, "riddle"), (4, "empty docstring"), (4, "predicate none"), *2 * [(7, "free relative")]],
        )
        page = Path(self.mktemp()).with_suffix(".md")
        page.write_text("```\nwhoever\n```\nA token that is nobody's: `whoever`.\n")
        self.assertEqual([(each.line, each.name) for each in findings([page])], [(4, "predicate none")])
