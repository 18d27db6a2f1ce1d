"""Paths and links of what is passed on: what a path becomes at the other end, and how links find the way back.

A page that is read through a proxy has links that begin at its own server's root. They are rewritten to begin where
the proxy does (reference PROXY-16).
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping
from typing import Final
from urllib.parse import SplitResult, quote, urlsplit, urlunsplit

import attrs

_PATH_CHARACTERS: Final = "$&+,/:;=@-_.~"


def backend_path(path: str) -> str:
    """The path at the other end, without dots and doubled slashes; a slash at the end stays."""
    if not path:
        return ""
    clean = "/" + posixpath.normpath("/" + path.lstrip("/")).lstrip("/")
    return clean + "/" if path.endswith("/") and not clean.endswith("/") else clean


def escaped(path: str) -> str:
    """A path as a request line has it."""
    return quote(path, safe=_PATH_CHARACTERS)


@attrs.frozen(slots=True, kw_only=True)
class Links:
    """The links of one answer.

    `prefix` is what stands before the other end's paths here. `backend` and `host` are the authorities that mean the
    other end: its own, and the one by which the client knows this server.
    """

    prefix: str
    backend: str
    host: str

    @classmethod
    def of(cls, *, path: str, backend_path: str, backend: str, host: str) -> Links:
        """Those of a request for `path` (decoded) that was passed on as `backend_path`."""
        suffix = backend_path
        if path.endswith("/") and not suffix.endswith("/"):
            suffix += "/"
        return cls(prefix=path.removesuffix(suffix), backend=backend, host=host)

    def rewritten(self, link: str) -> str:
        """A link that leads through the proxy, if it is one from the root of the other end."""
        try:
            parts = urlsplit(link)
            path = parts.path
        except ValueError:
            return link
        if not path.startswith("/") or (parts.netloc and parts.netloc not in (self.backend, self.host)):
            return link
        keeps = parts.netloc == self.host != ""
        if not path.startswith(self.prefix):
            joined = posixpath.normpath(f"{self.prefix}/{path}")
            path = joined + "/" if path.endswith("/") and not joined.endswith("/") else joined
            path = "/" + path.lstrip("/")
        scheme, netloc = (parts.scheme, parts.netloc) if keeps else ("", "")
        return urlunsplit(SplitResult(scheme, netloc, path, parts.query, parts.fragment))


# Attributes that hold links, by element.
_LINKS: Final[Mapping[str, frozenset[str]]] = {
    element: frozenset(attributes.split())
    for element, attributes in {
        "a": "href",
        "applet": "codebase",
        "area": "href",
        "audio": "src",
        "base": "href",
        "blockquote": "cite",
        "body": "background",
        "button": "formaction",
        "command": "icon",
        "del": "cite",
        "embed": "src",
        "form": "action",
        "frame": "longdesc src",
        "head": "profile",
        "html": "manifest",
        "iframe": "longdesc src",
        "img": "longdesc src usemap",
        "input": "src usemap formaction",
        "ins": "cite",
        "link": "href",
        "object": "classid codebase data usemap",
        "q": "cite",
        "script": "src",
        "source": "src",
        "video": "poster src",
    }.items()
}

MARKUP_CHARACTERS: Final = 8 * 1024
"""Of one tag or comment; what is longer passes as it is."""

_TAG: Final = re.compile(r"<([a-zA-Z][a-zA-Z0-9]*)((?:[^<>\"']|\"[^\"]*\"|'[^']*')*)>")
_ATTRIBUTE: Final = re.compile(r"(?<![a-zA-Z-])([a-zA-Z-]{1,32})(\s*=\s*)(\"[^\"]*\"|'[^']*'|[^\s\"'>]+)")
_RAW: Final = frozenset({"script", "style", "textarea", "title", "xmp", "noframes", "noscript"})
"""Elements whose content is text, whatever it looks like."""


class Page:
    """Rewrites the links of an HTML page that comes in pieces.

    `encoding` of the bytes does not matter: markup is ASCII, and the rest passes as it is.
    """

    def __init__(self, links: Links) -> None:
        self._links = links
        self._rest = ""
        self._raw = ""

    def feed(self, data: bytes) -> bytes:
        """Take a piece of the page; return what can be sent by now."""
        return self._rewrite(self._rest + data.decode("latin-1"), last=False)

    def end(self) -> bytes:
        """Return the rest at the end of the page."""
        return self._rewrite(self._rest, last=True)

    def _rewrite(self, text: str, *, last: bool) -> bytes:
        out: list[str] = []
        at = 0
        while (start := text.find("<", at)) >= 0:
            out.append(text[at:start])
            at = start
            end = self._markup_end(text, start)
            if end >= 0:
                out.append(self._markup(text[start:end]))
                at = end
            elif last or len(text) - start > MARKUP_CHARACTERS:
                # Too long for markup: past it, so that no piece is looked through twice.
                at = min(len(text), start + MARKUP_CHARACTERS)
                out.append(text[start:at])
            else:
                self._rest = text[at:]
                break
        else:
            out.append(text[at:])
            self._rest = ""
        return "".join(out).encode("latin-1")

    def _markup_end(self, text: str, start: int) -> int:
        """Where the markup that begins at `start` ends, or -1 if that has not come yet."""
        if self._raw:
            closing = f"</{self._raw}"
            ahead = text[start : start + len(closing)].lower()
            if ahead == closing:
                return text.find(">", start) + 1 or -1
            return -1 if closing.startswith(ahead) and start + len(ahead) == len(text) else start + 1
        if text.startswith("<!--", start):
            end = text.find("-->", start + 4)
            return end + 3 if end >= 0 else -1
        ahead = text[start + 1 : start + 2]
        if ahead and not (ahead.isalpha() or ahead in "/!?"):
            return start + 1
        return _tag_end(text, start)

    def _markup(self, markup: str) -> str:
        if self._raw:
            if len(markup) > 1:
                self._raw = ""
            return markup
        found = _TAG.fullmatch(markup)
        if found is None:
            return markup
        element = found[1].lower()
        if element in _RAW and not found[2].rstrip().endswith("/"):
            self._raw = element
        names = _LINKS.get(element)
        if names is None:
            return markup
        return f"<{found[1]}{_ATTRIBUTE.sub(lambda each: self._attribute(each, names), found[2])}>"

    def _attribute(self, found: re.Match[str], names: frozenset[str]) -> str:
        if found[1].lower() not in names:
            return found[0]
        value = found[3]
        mark = value[0] if value[0] in "\"'" else ""
        link = value[1:-1] if mark else value
        return f"{found[1]}{found[2]}{mark}{self._links.rewritten(link)}{mark}"


def _tag_end(text: str, start: int) -> int:
    """Behind the `>` that closes the tag at `start`: one in quotes does not. -1: it has not come yet."""
    mark = ""
    for at in range(start + 1, min(len(text), start + MARKUP_CHARACTERS)):
        character = text[at]
        if mark:
            if character == mark:
                mark = ""
        elif character == ">":
            return at + 1
        elif character in "\"'":
            mark = character
    return -1
