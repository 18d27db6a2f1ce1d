"""Hashes in the names of what a controller makes for a pod template, and equality of templates."""

from __future__ import annotations

from hashlib import blake2b
from typing import Any, Final

import orjson

from orchtw.simulation.workloads.conditions import same
from orchtw.wire.objects import Object

TEMPLATE_HASH: Final = "pod-template-hash"
REVISION_HASH: Final = "controller-revision-hash"

_LETTERS: Final = "bcdfghjklmnpqrstvwxz2456789"  # without vowels, so that no words come about
_BYTES: Final = 4


def hash_of(content: Any, collisions: int | None) -> str:
    """Return up to ten letters and digits that stand for JSON content; another number of collisions gives others.

    They are stable between processes, but not those that the release computes of the same template.
    """
    text = orjson.dumps([content, collisions], option=orjson.OPT_SORT_KEYS)
    return letters(str(int.from_bytes(blake2b(text, digest_size=_BYTES).digest(), "big")))


def letters(text: str) -> str:
    """Return a text of the same length in the alphabet of generated names."""
    return "".join(_LETTERS[ord(char) % len(_LETTERS)] for char in text)


def same_template(one: Object, other: Object) -> bool:
    """Report whether two pod templates differ in nothing but their hashes."""
    return same(without_hash(one), without_hash(other))


def without_hash(template: Object) -> Object:
    """Return a template without the label of its hash."""
    meta = template.get("metadata") or {}
    labels = {key: value for key, value in (meta.get("labels") or {}).items() if key != TEMPLATE_HASH}
    return {**template, "metadata": {**meta, "labels": labels}}
