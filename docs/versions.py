"""Build the handbook of this checkout beside those of other versions: `python -m docs.versions SITES`.

Each version has a folder of its own, named after it, with its own search. The index page of SITES links to all of
them, the newest first, and each page links to that index. A folder is replaced only by a complete build.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterable
from html import escape
from pathlib import Path
from subprocess import run
from typing import Final

import orchtw

HERE: Final = Path(__file__).resolve().parent
_PAGE: Final = """\
<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>orchtw: versions of the handbook</title>
<h1>orchtw: versions of the handbook</h1>
<ul>
{}
</ul>
</html>
"""


def add(sites: Path, version: str = orchtw.__version__) -> Path:
    """Build the version's folder in `sites`, and write the index; returns the folder.

    Raises CalledProcessError if the site does not build; `sites` is then as before.
    """
    target, partial = sites / version, sites / f".{version}"
    shutil.rmtree(partial, ignore_errors=True)
    try:
        command = [sys.executable, "-m", "sphinx", "-q", "-W", "-A", "versions=1", "-d", str(partial / ".doctrees")]
        run([*command, str(HERE), str(partial)], check=True)
        shutil.rmtree(partial / ".doctrees")
        shutil.rmtree(target, ignore_errors=True)
        partial.rename(target)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    (sites / "index.html").write_text(index(folder.parent.name for folder in sites.glob("[!.]*/index.html")), "utf-8")
    return target


def index(versions: Iterable[str]) -> str:
    """Return the page that links to the versions, the newest first."""
    from packaging.version import Version

    newest = sorted(versions, key=Version, reverse=True)
    lines = (f'<li><a href="{escape(each)}/index.html">{escape(each)}</a></li>' for each in newest)
    return _PAGE.format("\n".join(lines))


if __name__ == "__main__":
    print(add(Path(sys.argv[1])))
