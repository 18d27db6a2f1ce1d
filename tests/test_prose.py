"""English of the sources and the handbook: no construction that `tests.prose` lists."""

from __future__ import annotations

import re
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from orchtw.assembly.flags import FLAGS
from tests.prose import CONSTRUCTIONS, FEWEST_WORDS, HELP_CONSTRUCTIONS, findings

ROOT = Path(__file__).resolve().parent.parent
CHECKED = ("orchtw", "tests", "bench", "docs", "examples", "README.md", "CHANGES.md", "newsfragments")

SAMPLE_OF_BAD_ENGLISH = '''"""Whether a lock is held."""

class Lock:
    """A lock."""  # refuses what is none

def hold() -> None:
    """Hold the lock for whoever asks. Who asks twice waits."""
    add("--retry", help="Time before the first further try.")
    log.info("{what} is looked after", what="what is no sentence")
'''


class ProseTests(SynchronousTestCase):
    """Docstrings, comments and pages, and the checker itself."""

    def test_project(self) -> None:
        """Docstrings, comments and pages of the project have no finding."""
        found = [str(each) for each in findings(ROOT / name for name in CHECKED)]
        self.assertEqual(found, [])

    def test_help(self) -> None:
        """The help of every flag, those without effect included, names the thing first and has no finding."""
        patterns = [re.compile(r"^(?:What|Whether|Who)"), *CONSTRUCTIONS.values(), *HELP_CONSTRUCTIONS.values()]
        found = [
            (flag.name, flag.help)
            for flag in FLAGS
            if len(flag.help.split()) < FEWEST_WORDS or any(pattern.search(flag.help) for pattern in patterns)
        ]
        self.assertEqual(found, [])

    def test_constructions(self) -> None:
        """Each construction is found where it stands, and code is not looked at."""
        path = Path(self.mktemp()).with_suffix(".py")
        path.write_text(SAMPLE_OF_BAD_ENGLISH)
        found = [(each.line, each.name) for each in findings([path])]
        self.assertEqual(
            sorted(found),
            [(1, "riddle"), (4, "empty docstring"), (4, "predicate none"), *2 * [(7, "free relative")],
             (8, "translated"), (9, "translated")],
        )
        page = Path(self.mktemp()).with_suffix(".md")
        page.write_text("```\nwhoever\n```\nA token that is nobody's: `whoever`.\n")
        self.assertEqual([(each.line, each.name) for each in findings([page])], [(4, "predicate none")])
