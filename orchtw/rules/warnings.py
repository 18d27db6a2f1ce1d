"""Warning headers of responses (reference ERR-50)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from orchtw.schema.catalogue import ResourceType, joined

TOTAL_CHARACTERS = 4096
"""Size of all texts above which each is cut to `CUT_CHARACTERS`, and those beyond this total are dropped."""

CUT_CHARACTERS = 256


def deprecation(resource: ResourceType, release: str) -> str:
    """Return the deprecation warning of a version that is deprecated in `release` ("1.24").

    For any other version, return the warning of its definition, or "".
    """
    if resource.deprecated is None or _order(resource.deprecated) > _order(release):
        return resource.warning
    text = f"{resource.api_version} {resource.kind} is deprecated in v{resource.deprecated}+"
    if resource.removed:
        text += f", unavailable in v{resource.removed}+"
    if new := resource.replacement:
        text += f"; use {joined(new.group, new.version)} {new.kind}"
    return text


def warning_headers(texts: Sequence[str]) -> list[tuple[str, str]]:
    """Return a Warning header for each distinct text, in the form of RFC 7234."""
    texts = list(dict.fromkeys("".join(char for char in text if char.isprintable()) for text in texts))
    if sum(map(len, texts)) > TOTAL_CHARACTERS:
        texts = list(_cut(texts))
    return [("Warning", f'299 - "{_quoted(text)}"') for text in texts]


def _cut(texts: Sequence[str]) -> Iterator[str]:
    """Yield the texts cut to CUT_CHARACTERS, until their total reaches TOTAL_CHARACTERS (reference ERR-51)."""
    left = TOTAL_CHARACTERS
    for text in texts:
        if left <= 0:
            return
        yield text[:CUT_CHARACTERS]
        left -= min(len(text), CUT_CHARACTERS)


def _order(release: str) -> tuple[int, ...]:
    return tuple(map(int, release.split(".")))


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')
