"""English of the sources and the handbook: no construction that `tests.prose` lists."""

from __future__ import annotations

from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from orchtw.assembly.flags import FLAGS
from tests.prose import CONSTRUCTIONS, FEWEST_WORDS, HELP_CONSTRUCTIONS, HELP_RIDDLE, STRING_CONSTRUCTIONS, findings

ROOT = Path(__file__).resolve().parent.parent
CHECKED = ("orchtw", "protos", "tests", "bench", "docs", "examples", "README.md", "CHANGES.md", "newsfragments")

SAMPLE_OF_BAD_ENGLISH = '''"""Whether a lock is held."""

class Lock:
    """A lock."""  # refuses what is none

def hold() -> None:
    """Hold the lock for whoever asks. Who asks twice waits."""
    add("--retry", help="Time before the first further try.")
    log.info("{what} is looked after", what="what is no sentence")
    open("Whether it works", help="Why it works, what is done.")
    raise Refused.of(f"{name} is no object; there is no object, and it is no longer one")
'''

BAD_PAGE = """# What a heading says

| What a cell says |

```
whoever
```
A token that is nobody's: `whoever`. What nobody signs
waits. What is it? Where keys are shared, all is well. Where it is kept is open.

* How it works is open.
"""

BAD_PROTO = """syntax = "proto2"; // What is not a description is not checked.

// What things there are.
message Thing {
  // The size. Absent:
  // the default. Not for pods of windows.
  optional string size = 1;
}
"""

BAD_DESCRIPTIONS = """{
  "a.Thing": {
    "": "How things are.",
    "size": "The size.",
    "url": "The address that the webhook is asked at, of \\"x\\"."
  }
}
"""


class ProseTests(SynchronousTestCase):
    """Docstrings, comments and pages, and the checker itself."""

    def test_project(self) -> None:
        """Docstrings, comments and pages of the project have no finding."""
        found = [str(each) for each in findings(ROOT / name for name in CHECKED)]
        self.assertEqual(found, [])

    def test_help(self) -> None:
        """The help of every flag, those without effect included, names the thing first and has no finding."""
        named = CONSTRUCTIONS | STRING_CONSTRUCTIONS | HELP_CONSTRUCTIONS
        patterns = (HELP_RIDDLE.match, *(each.search for each in named.values()))
        found = [
            (flag.name, flag.help)
            for flag in FLAGS
            if len(flag.help.split()) < FEWEST_WORDS or any(find(flag.help) for find in patterns)
        ]
        self.assertEqual(found, [])

    def test_python(self) -> None:
        """Each construction is found in docstrings, comments and strings."""
        self.assertEqual(
            self.found("bad.py", SAMPLE_OF_BAD_ENGLISH),
            [(1, "riddle"), (4, "empty docstring"), (4, "predicate none"), *2 * [(7, "free relative")],
             (8, "translated"), (9, "predicate no"), *2 * [(9, "translated")], (10, "riddle"), (10, "translated"),
             (11, "predicate no")],
        )  # fmt: skip

    def test_tests(self) -> None:
        """Strings of tests, which quote what others say, are not checked."""
        self.assertEqual(list(findings([Path(__file__)])), [])

    def test_pages(self) -> None:
        """Sentences of pages and news are checked; questions, headings, tables and code are not."""
        expected = [(8, "predicate none"), (8, "subject clause"), (9, "subject clause"), (11, "subject clause")]
        for name in ("bad.md", "bad.feature", "bad.bugfix", "bad.removal", "bad.doc", "bad.misc"):
            self.assertEqual(self.found(name, BAD_PAGE), expected, name)

    def test_protos(self) -> None:
        """Comments that have their line to themselves are checked, each block as one text."""
        expected = [(3, "riddle"), (5, "telegraphic"), (6, "translated")]
        self.assertEqual(self.found("bad.proto", BAD_PROTO), expected)

    def test_descriptions(self) -> None:
        """Every description that documents of the API show is checked."""
        expected = [(3, "empty description"), (3, "riddle"), (4, "empty description"), (5, "translated")]
        self.assertEqual(self.found("descriptions.json", BAD_DESCRIPTIONS), expected)

    def found(self, name: str, text: str) -> list[tuple[int, str]]:
        """Return line and name of the findings in a file, sorted."""
        path = Path(name)
        self.addCleanup(path.unlink)
        path.write_text(text)
        return sorted((each.line, each.name) for each in findings([path]))
