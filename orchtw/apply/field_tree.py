"""Set algebra on trees of path steps, the content of a `FieldSet`: plain dicts in the shape of FieldsV1.

A tree maps steps to subtrees. A path is a member of the set if its subtree is empty or has the key ".". No other
subtree is empty, and "." is never the only key, so that equal sets are equal dicts. Trees are immutable once built
and share common parts. The root stands for no path: there, an empty tree is the empty set, and "." does not occur.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

from orchtw.apply.path_element import SELF, canonical_text, order
from orchtw.schema.values import in_order

Tree = dict[str, "Tree"]

LEAF: Final[Tree] = {}
"""Tree of a member without members below it."""


def is_member(tree: Tree) -> bool:
    """Report whether the path of this tree (not a root) is a member."""
    return not tree or SELF in tree


def as_member(tree: Tree) -> Tree:
    """Return the tree (not a root) with its path as a member."""
    return tree if not tree or SELF in tree else {SELF: LEAF, **tree}


def union(a: Tree, b: Tree) -> Tree:
    """Return the union of two roots."""
    if not a:
        return b
    return _joined(a, b) if b else a


def _joined(a: Tree, b: Tree) -> Tree:
    out = None
    for step, right in b.items():
        left = a.get(step)
        if left is None:
            joined = right
        elif left is right:
            continue
        else:
            joined = _both(left, right)
        if joined is left:
            continue
        if out is None:
            out = dict(a)
        out[step] = joined
    return a if out is None else out


def _both(left: Tree, right: Tree) -> Tree:
    """Return the union of two trees below the root."""
    return _joined(left, right) if left and right else as_member(left or right)


def union_of(roots: Iterable[Tree]) -> Tree:
    """Return the union of all roots."""
    return _in_pairs(union, list(roots)) or {}


def _in_pairs(join: Callable[[Tree, Tree], Tree], trees: list[Tree]) -> Tree | None:
    """Join all trees pairwise: joining them one after the other would copy the growing result each time."""
    while len(trees) > 1:
        odd = trees[-1:] if len(trees) % 2 else []
        trees = [*map(join, trees[:-1:2], trees[1::2]), *odd]
    return trees[0] if trees else None


def difference(a: Tree, b: Tree) -> Tree:
    """Return the paths of root `a` that are not in root `b`; children of a path in `b` stay."""
    return _without(a, b) or {} if a and b else a


def _without(a: Tree, b: Tree) -> Tree | None:
    """Return the difference below the root; None if it is empty."""
    if a is b:
        return None
    if not a:
        return None if is_member(b) else a
    if not b:
        return _unowned(a)
    out = None
    for step in b if len(b) < len(a) else a:
        left, right = a.get(step), b.get(step)
        if left is None or right is None:
            continue
        rest = _without(left, right)
        if rest is left:
            continue
        if out is None:
            out = dict(a)
        if rest is None:
            del out[step]
        else:
            out[step] = rest
    return a if out is None else _normal(out)


def _unowned(a: Tree) -> Tree:
    return {step: tree for step, tree in a.items() if step != SELF} if SELF in a else a


def _normal(tree: Tree) -> Tree | None:
    if not tree:
        return None
    return LEAF if len(tree) == 1 and SELF in tree else tree


def recursive_difference(a: Tree, b: Tree) -> Tree:
    """Return the paths of root `a` that are neither in root `b` nor below a path in it."""
    return _cut(a, b) or {} if a and b else a


def _cut(a: Tree, b: Tree) -> Tree | None:
    out = None
    for step, right in b.items():
        left = a.get(step)
        if left is None:
            continue
        rest = None if is_member(right) else _cut(left, right) if left else left
        if rest is left:
            continue
        if out is None:
            out = dict(a)
        if rest is None:
            del out[step]
        else:
            out[step] = rest
    return a if out is None else _normal(out)


def intersection(a: Tree, b: Tree) -> Tree:
    """Return the intersection of two roots."""
    return _common(a, b) or {} if a and b else {}


def _common(a: Tree, b: Tree) -> Tree | None:
    if a is b:
        return a
    if not a:
        return a if is_member(b) else None
    if not b:
        return LEAF if SELF in a else None
    if len(b) < len(a):
        a, b = b, a
    out = {}
    for step, left in a.items():
        right = b.get(step)
        if right is not None:
            common = _common(left, right)
            if common is not None:
                out[step] = common
    return _normal(out)


def leaves(tree: Tree) -> Tree:
    """Return the members that have no members below them."""
    return {step: leaves(part) for step, part in tree.items() if step != SELF}


def size(tree: Tree) -> int:
    """Return the number of members."""
    return sum(1 if not part else size(part) for part in tree.values())


def insert(tree: Tree, path: tuple[str, ...]) -> Tree:
    """Return the root with a path added, given as canonical steps."""
    step, rest = path[0], path[1:]
    part = tree.get(step)
    if rest:
        inner = insert(part or {}, rest)
        new = as_member(inner) if part is not None and not part else inner
    else:
        new = LEAF if part is None else as_member(part)
    return tree if new is part else {**tree, step: new}


def walk(tree: Tree, above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield every member as steps, in order; at each level the members that end there come first."""
    steps = list(in_order(tree, order))
    for step in steps:
        if step != SELF and is_member(tree[step]):
            yield (*above, step)
    for step in steps:
        if tree[step]:
            yield from walk(tree[step], (*above, step))


def decode(fields: Any) -> Tree:
    """Convert a FieldsV1 dict to a root, in place. Raises ValueError for anything else."""
    tree = _decoded(fields)
    tree.pop(SELF, None)
    return tree


def _decoded(fields: Any) -> Tree:
    if type(fields) is not dict:
        raise ValueError(f"not a set of fields: {fields!r}")
    unusual = []
    for step, part in fields.items():
        if step[:2] != "f:" and step != SELF and canonical_text(step) != step:
            unusual.append(step)
        else:
            fields[step] = LEAF if part == LEAF else _decoded(part)
    respelled: dict[str, list[Tree]] = {}
    for step in unusual:
        spelling, part = canonical_text(step), fields.pop(step)
        if spelling is not None:
            respelled.setdefault(spelling, []).append(_decoded(part))
    for spelling, trees in respelled.items():
        fields[spelling] = _in_pairs(_both, [fields[spelling], *trees] if spelling in fields else trees)
    return _normal(fields) or {}


def encode(tree: Tree) -> dict[str, Any]:
    """Return the root as a new FieldsV1 dict with its steps in the reference's order."""
    if len(tree) == 1:
        for step, part in tree.items():
            return {step: encode(part) if part else {}}
    # Plain text order is right for "." and field names ("f:…"); steps of other kinds sort after "g".
    steps = in_order(tree, order if tree and max(tree) >= "g" else None)
    return {step: encode(part) if (part := tree[step]) else {} for step in steps}
