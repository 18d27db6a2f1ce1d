"""Site of the handbook as far as it can be checked without Sphinx (`docs/conf.py`)."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from subprocess import CalledProcessError, CompletedProcess

from twisted.trial.unittest import SynchronousTestCase

from docs import conf, versions

ROOT = Path(__file__).resolve().parent.parent
_AUTOMODULE = re.compile(r"^\.\. automodule:: (\S+)$", re.M)


def prepared(name: str) -> str:
    """Return a page as Sphinx gets it."""
    source = [(ROOT / "docs" / f"{name}.md").read_text()]
    conf.prepare(None, name, source)
    return source[0]


class SiteTests(SynchronousTestCase):
    """Pages as the site shows them."""

    def test_links_out_of_docs(self) -> None:
        """A link to a file beside docs/ leads to the page with that file, which has the file's own links."""
        self.assertIn("](project/readme.md#a-two-minute-tour)", prepared("index"))
        self.assertIn("](../operating/index.md)", prepared("project/readme"))

    def test_contents(self) -> None:
        """Every page is below a page with a tree of contents."""
        listed: set[str] = set()
        for name in conf.TREES:
            tree = prepared(name).rpartition("```{toctree}\n:hidden:\n\n")[2].partition("\n\n```")[0]
            listed |= {str(Path(name).parent / line) for line in tree.splitlines()}
        folders = ("", "operating", "reference", "testing", "project")
        found = [(folder, page) for folder in folders for page in (ROOT / "docs" / folder).glob("*.md")]
        pages = {f"{folder}/{page.stem}".strip("/") for folder, page in found}
        self.assertEqual(pages - listed, {"index"})

    def test_modules(self) -> None:
        """The modules of the API pages are there."""
        for page in (ROOT / "docs/api").glob("*.rst"):
            for module in _AUTOMODULE.findall(page.read_text()):
                self.assertIsNotNone(importlib.util.find_spec(module), module)

    def test_versions(self) -> None:
        """The index links to every version, the newest first; a build that fails leaves everything as it was."""
        found = re.findall(r'<a href="([^"]+)/index.html">', versions.index(["0.9.0", "0.10.0", "1.0.0rc1", "1.0.0"]))
        self.assertEqual(found, ["1.0.0", "1.0.0rc1", "0.10.0", "0.9.0"])
        sites = Path(self.mktemp())
        (sites / "0.1.0").mkdir(parents=True)
        (sites / "0.1.0/index.html").write_text("before")
        ended: CompletedProcess[str] = CompletedProcess("sphinx", 1)
        self.patch(versions, "run", lambda *arguments, **options: ended.check_returncode())
        with self.assertRaises(CalledProcessError):
            versions.add(sites, "0.1.0")
        self.assertEqual([path.name for path in sites.iterdir()], ["0.1.0"])
        self.assertEqual((sites / "0.1.0/index.html").read_text(), "before")

    def test_docstrings(self) -> None:
        """Fenced blocks of docstrings become blocks of reStructuredText."""
        lines = ["Text:", "```python", "a = 1", "```", "End."]
        conf.convert(None, "module", "m", None, None, lines)
        self.assertEqual(lines, ["Text:", "", ".. code-block:: python", "", "    a = 1", "", "End."])
