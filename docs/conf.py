"""Settings of Sphinx for the handbook as a site: `python -m sphinx -W docs site`, from a checkout.

The pages are read as they stand, for readers of the repository and of the site alike: the trees of contents come from
the links on the index pages, and links out of `docs/` lead to the copies of those files in `docs/project/`.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

import orchtw

HERE = Path(__file__).resolve().parent

project = "orchtw"
author = "The orchtw authors"
version = release = orchtw.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc"]
exclude_patterns = ["**/__pycache__"]
nitpicky = True
# Annotations name types of all layers and of other projects, which have no pages.
nitpick_ignore_regex = [("py:.*", ".*")]
default_role = "literal"  # docstrings mark code with single backticks
myst_heading_anchors = 4
autodoc_default_options = {"members": True, "show-inheritance": True, "member-order": "bysource"}
autodoc_typehints = "signature"
html_theme = "alabaster"
templates_path = ["templates"]
html_sidebars = {"**": ["about.html", "searchfield.html", "navigation.html", "relations.html", "versions.html"]}
html_title = f"orchtw {version}"
html_theme_options = {"description": f"Handbook of version {version}", "page_width": "1100px"}

PROJECT = {f"{name}.md": f"project/{name.lower()}.md" for name in ("README", "CONTRIBUTING", "SECURITY", "CHANGES")}
"""Pages of the site for the files outside `docs/`."""

TREES = {
    "index": ["api/index", *(page.removesuffix(".md") for page in PROJECT.values())],
    "operating/index": [],
    "reference/index": [],
    "testing": [],
}
"""Pages with a tree of contents: the pages below that they link to, and these others."""

_LINK = re.compile(r"\]\(([^)\s#:]+)(#[^)\s]+)?\)")
_INCLUDE = re.compile(r"```\{include\} (\S+)\n```\n")
_TREE = "\n```{{toctree}}\n:hidden:\n\n{}\n```\n"


def setup(app: Any) -> None:
    """Have each page read through `prepare`, and each docstring through `convert`."""
    app.connect("source-read", prepare)
    app.connect("autodoc-process-docstring", convert)


def convert(app: Any, what: str, name: str, value: object, options: object, lines: list[str]) -> None:
    """Turn the fenced blocks of a docstring, which are Markdown, into blocks of reStructuredText."""
    inside = False
    result: list[str] = []
    for line in lines:
        if line.startswith("```"):
            inside = not inside
            result += ["", f".. code-block:: {line[3:] or 'text'}", ""] if inside else [""]
        else:
            result.append(f"    {line}" if inside else line)
    lines[:] = result


def prepare(app: Any, name: str, source: list[str]) -> None:
    """Include the file of a project page, direct the links to pages of the site, and add a tree of contents."""
    folder = posixpath.join("docs", posixpath.dirname(name))
    text = source[0]
    if included := _INCLUDE.fullmatch(text):
        path = posixpath.normpath(posixpath.join(folder, included[1]))
        text, folder = (HERE.parent / path).read_text("utf-8"), posixpath.dirname(path)
    here = posixpath.join("docs", posixpath.dirname(name))
    text = _LINK.sub(lambda found: f"]({_target(folder, here, found[1])}{found[2] or ''})", text)
    if name in TREES:
        text += _TREE.format("\n".join(_below(name, text) + TREES[name]))
    source[0] = text


def _target(folder: str, here: str, link: str) -> str:
    """Return the link for the page in `here` that a file in `folder` has as `link`."""
    path = posixpath.normpath(posixpath.join(folder, link))
    if path in PROJECT:
        path = posixpath.join("docs", PROJECT[path])
    return posixpath.relpath(path, here)


def _below(name: str, text: str) -> list[str]:
    """Return the pages that a page links to in its own folder and in the folders below, relative to that folder."""
    links = dict.fromkeys(found[1] for found in _LINK.finditer(text))
    others = ("..", "project/", f"{posixpath.basename(name)}.md")
    return [link.removesuffix(".md") for link in links if link.endswith(".md") and not link.startswith(others)]
