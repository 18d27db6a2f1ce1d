"""Paths of proxied requests, and rewriting of links in proxied pages (reference PROXY-16).

Links in a proxied page start at the root of its own server; they are rewritten to start at the proxy's path.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping
from typing import Final
from urllib.parse import SplitResult, quote, urlsplit, urlunsplit

import msgspec

_PATH_CHARACTERS: Final = "$&+,/:;=@-_.~"


def backend_path(path: str) -> str:
    """Return the path to request from the backend, without dot segments and double slashes; a final slash stays."""
    if not path:
        return ""
    clean = "/" + posixpath.normpath("/" + path.lstrip("/")).lstrip("/")
    return clean + "/" if path.endswith("/") and not clean.endswith("/") else clean


def escaped(path: str) -> str:
    """Percent-encode a path for a request line."""
    return quote(path, safe=_PATH_CHARACTERS)


class Links(msgspec.Struct, frozen=True, kw_only=True):
    """Rewriter of the links in one response.

    `prefix` precedes the backend's paths on this server. `backend` and `host` are the authorities whose links are
    rewritten: the backend's own, and the one that the client uses for this server.
    """

    prefix: str
    backend: str
    host: str

    @classmethod
    def of(cls, *, path: str, backend_path: str, backend: str, host: str) -> Links:
        """Return the rewriter for a request of `path` (decoded) that was forwarded as `backend_path`."""
        suffix = backend_path
        if path.endswith("/") and not suffix.endswith("/"):
            suffix += "/"
        return cls(prefix=path.removesuffix(suffix), backend=backend, host=host)

    def rewritten(self, link: str) -> str:
        """Rewrite a link to lead through the proxy if it is an absolute path of the backend; else return it as is."""
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
"""Size limit of one tag or comment, in characters; a longer one is passed on unchanged."""

_TAG: Final = re.compile(r"<([a-zA-Z][a-zA-Z0-9]*)((?:[^<>\"']|\"[^\"]*\"|'[^']*')*)>")
_ATTRIBUTE: Final = re.compile(r"(?<![a-zA-Z-])([a-zA-Z-]{1,32})(\s*=\s*)(\"[^\"]*\"|'[^']*'|[^\s\"'>]+)")
_RAW: Final = frozenset({"script", "style", "textarea", "title", "xmp", "noframes", "noscript"})
"""Elements whose content is raw text, not markup."""


class Page:
    """Rewriter of the links in an HTML page that arrives in pieces.

    The encoding of the bytes does not matter: markup is ASCII, and the rest is passed on as it is.
    """

    def __init__(self, links: Links) -> None:
        self._links = links
        self._rest = ""
        self._raw = ""

    def feed(self, data: bytes) -> bytes:
        """Take a piece of the page; return the rewritten part that is complete."""
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
                # Too long for markup: skip it, so that no part is scanned twice.
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
        """Return the end of the markup that begins at `start`, or -1 if it has not arrived yet."""
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
    """Return the index after the unquoted `>` that closes the tag at `start`, or -1 if it has not arrived yet."""
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
