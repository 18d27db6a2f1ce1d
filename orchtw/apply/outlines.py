"""Outlines of structs: what their keys alone say about their fields.

Most structs of a type come with few different sets of keys, so that the fields of a new object are copied from
outlines, and only containers are walked.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final, NamedTuple

from orchtw.apply.field_tree import LEAF, Tree
from orchtw.apply.merge_type import LEAF_SHAPE, MapType, Type
from orchtw.apply.path_element import SELF

KEPT: Final = 2048
"""Limit of outlines, of 1 to 2 KiB each. Their keys are declared ones, so that clients do not choose their sizes."""


class Outline(NamedTuple):
    """The fields of a struct with certain keys.

    `leaves`: its own path and each field as a leaf, in the order of FieldsV1. `containers`: key, step and type of
    each field that may have fields below.
    """

    leaves: Tree
    containers: tuple[tuple[str, str, Type], ...]


@lru_cache(maxsize=KEPT)
def outline(kind: MapType, keys: tuple[str, ...]) -> Outline:
    """Return the outline of a struct of a type with these keys, all of which it declares."""
    found = [(key, *kind.fields[key]) for key in sorted(keys)]
    return Outline(
        {SELF: LEAF, **{step: LEAF for _, step, _ in found}},
        tuple((key, step, inner) for key, step, inner in found if inner.shape != LEAF_SHAPE),
    )
