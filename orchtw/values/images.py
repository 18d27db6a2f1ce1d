"""References to container images, by the grammar of image registries."""

from __future__ import annotations

import re
from typing import Final

_DEFAULT_DOMAIN: Final = "docker.io"
_OLD_DOMAIN: Final = "index.docker.io"
_OFFICIAL: Final = "library/"
_LATEST: Final = "latest"
_LONGEST_NAME: Final = 255
_LONGEST: Final = 600  # characters: name, tag and the longest digest
_DIGEST_DIGITS: Final = {"sha256": 64, "sha384": 96, "sha512": 128}

# No text matches these in two ways, so they take linear time.
_LABEL = r"[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?"
_DOMAIN = rf"{_LABEL}(?:\.{_LABEL})*(?::[0-9]+)?"
_PART = r"[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*"
_REFERENCE: Final = re.compile(
    rf"(?P<name>(?:{_DOMAIN}/)?{_PART}(?:/{_PART})*)"
    r"(?::(?P<tag>[0-9A-Za-z_][0-9A-Za-z_.-]{0,127}))?"
    r"(?:@(?P<algorithm>[a-z0-9]+):(?P<digits>[a-f0-9]+))?"
)
_IDENTIFIER: Final = re.compile("[a-f0-9]{64}")


def image_tag(image: str) -> str | None:
    """Return the tag of an image: `latest` without tag and digest, empty for a digest alone.

    None: it is not a reference to an image.
    """
    if len(image) > _LONGEST or _IDENTIFIER.fullmatch(image):
        return None
    found = _REFERENCE.fullmatch(_with_domain(image))
    if found is None or len(found["name"]) > _LONGEST_NAME:
        return None
    if found["algorithm"] and _DIGEST_DIGITS.get(found["algorithm"]) != len(found["digits"]):
        return None
    return found["tag"] or ("" if found["algorithm"] else _LATEST)


def _with_domain(image: str) -> str:
    """Return the image with an explicit registry."""
    domain, slash, rest = image.partition("/")
    if not slash or not ("." in domain or ":" in domain or domain == "localhost"):
        domain, rest = _DEFAULT_DOMAIN, image
    if domain == _OLD_DOMAIN:
        domain = _DEFAULT_DOMAIN
    if domain == _DEFAULT_DOMAIN and "/" not in rest:
        rest = _OFFICIAL + rest
    return f"{domain}/{rest}"
