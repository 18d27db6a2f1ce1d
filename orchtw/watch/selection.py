"""Selection of a watch or list: a namespace and two selectors, compiled to one test on entries.

A selection also names the one index term under which an event for it can be found (see `dispatcher`).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import cache
from typing import Protocol

import attrs

from orchtw.watch.entry import Entry

NAME = "metadata.name"
NAMESPACE = "metadata.namespace"


class LabelSelector(Protocol):
    """Parsed label selector (reference READ-18, `rules.selectors`); equal selectors compare and hash equal."""

    @property
    def requirements(self) -> Sequence[object]:
        """Terms of the selector."""

    @property
    def equalities(self) -> tuple[tuple[str, str], ...]:
        """Pairs (key, value) that every selected object has: the terms that require one value."""

    @property
    def choices(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """Pairs (key, values): every selected object has one of the values; without values: it has the key."""

    @property
    def exclusions(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """Pairs (key, values): no selected object has one of the values; without values: none has the key."""

    @property
    def empty(self) -> bool:
        """Report whether the selector selects everything."""

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Report whether an object with these labels is selected."""


class FieldSelector(Protocol):
    """Parsed field selector (reference READ-20, `rules.field_selectors`); equal ones compare and hash equal."""

    @property
    def terms(self) -> tuple[tuple[str, bool, str], ...]:
        """Triples (field, equal or not, value), all of which must hold."""


class ShardSelector(Protocol):
    """Parsed shard selector (reference READ-29, `rules.shard_selectors`); equal ones compare and hash equal."""

    @property
    def field(self) -> str:
        """Path of the hashed field."""

    def selects(self, value: str) -> bool:
        """Report whether an object with that value of the field is selected."""


Test = Callable[[Entry], bool]
Terms = tuple[tuple[str, bool, str], ...]
Indexer = Callable[[Entry], Iterable[Hashable]]  # the index terms of an entry; indexers are compared by identity


def all_entries(entry: Entry) -> Iterable[Hashable]:
    """Return the same term for all entries, for selections without a usable index."""
    return ("",)


def by_namespace(entry: Entry) -> Iterable[Hashable]:
    """Return the term of an entry's namespace."""
    return (entry.namespace,)


def by_key(entry: Entry) -> Iterable[Hashable]:
    """Return the term of a single object, its key."""
    return (entry.key,)


def by_name(entry: Entry) -> Iterable[Hashable]:
    """Return the term of an entry's name, in any namespace."""
    return (entry.name,)


def by_label(entry: Entry) -> Iterable[Hashable]:
    """Return a term for each label of an entry."""
    return entry.labels.items()


def by_namespaced_label(entry: Entry) -> Iterable[Hashable]:
    """Return a term for each label of an entry, with its namespace."""
    namespace = entry.namespace
    return [(namespace, item) for item in entry.labels.items()]


@cache  # positions are few: one indexer per selectable field
def by_field(position: int) -> Indexer:
    """Return the indexer of the selectable field at `position`."""

    def terms(entry: Entry) -> Iterable[Hashable]:
        return (entry.fields[position],)

    return terms


@cache
def by_namespaced_field(position: int) -> Indexer:
    """Return the indexer of the selectable field at `position`, together with the namespace."""

    def terms(entry: Entry) -> Iterable[Hashable]:
        return ((entry.namespace, entry.fields[position]),)

    return terms


@attrs.frozen(slots=True, cache_hash=True)
class Selection:
    """Selection of objects of one resource; equal ones share a watch group.

    `namespace` is "" for all. `field_names` names the positions of `Entry.fields` in the stored form, which field
    selectors name. They may use these, metadata.name and metadata.namespace; KeyError otherwise. `everything`: every
    object is selected; `whole`: every one of the namespace. `shards` are tested on what `hashed` reads of an entry.
    """

    namespace: str = ""
    labels: LabelSelector | None = None
    fields: FieldSelector | None = None
    field_names: tuple[str, ...] = ()
    shards: ShardSelector | None = None
    hashed: Callable[[Entry], str] | None = attrs.field(default=None, eq=False, repr=False)
    matches: Test = attrs.field(init=False, eq=False, repr=False)
    indexer: Indexer = attrs.field(init=False, eq=False, repr=False)
    term: Hashable = attrs.field(init=False, eq=False, repr=False)
    everything: bool = attrs.field(init=False, eq=False, repr=False)
    whole: bool = attrs.field(init=False, eq=False, repr=False)

    def __attrs_post_init__(self) -> None:
        labels = None if self.labels is None or self.labels.empty else self.labels
        fields = () if self.fields is None else self.fields.terms
        indexer, term = _best_term(self.namespace, labels, fields, self.field_names)
        tests = _tests(self.namespace, labels, fields, self.field_names)
        if self.shards is not None and self.hashed is not None:
            tests.append(_shard_test(self.shards, self.hashed))
        object.__setattr__(self, "matches", _compile(tests))
        object.__setattr__(self, "indexer", indexer)
        object.__setattr__(self, "term", term)
        object.__setattr__(self, "whole", labels is None and not fields and self.shards is None)
        object.__setattr__(self, "everything", self.whole and not self.namespace)


def _best_term(
    namespace: str, labels: LabelSelector | None, fields: Terms, names: tuple[str, ...]
) -> tuple[Indexer, Hashable]:
    """Return the indexer and term with the fewest events: object, field value, label value, namespace, all."""
    wanted = {name: value for name, equal, value in fields if equal}
    namespace = namespace or wanted.get(NAMESPACE, "")
    name = wanted.get(NAME)
    if name is not None:
        return (by_key, f"{namespace}/{name}") if namespace else (by_name, name)
    for position, field in enumerate(names):
        value = wanted.get(field)
        if value is not None:
            return (by_namespaced_field(position), (namespace, value)) if namespace else (by_field(position), value)
    if labels is not None and labels.equalities:
        pair = labels.equalities[0]
        return (by_namespaced_label, (namespace, pair)) if namespace else (by_label, pair)
    return (by_namespace, namespace) if namespace else (all_entries, "")


def _tests(namespace: str, labels: LabelSelector | None, fields: Terms, names: tuple[str, ...]) -> list[Test]:
    """Return the tests of a namespace and two selectors."""
    tests: list[Test] = []
    if namespace:
        tests.append(lambda entry: entry.namespace == namespace)
    tests += [_field_test(names, *term) for term in fields]
    if labels is not None:
        tests += _label_tests(labels)
    return tests


def _shard_test(shards: ShardSelector, hashed: Callable[[Entry], str]) -> Test:
    return lambda entry: shards.selects(hashed(entry))


def _compile(tests: Sequence[Test]) -> Test:
    """Return one test for all of them; a single one, and none, get the shortest ones."""
    if not tests:
        return lambda entry: True
    if len(tests) == 1:
        return tests[0]

    def matches(entry: Entry) -> bool:
        for test in tests:
            if not test(entry):
                return False
        return True

    return matches


def _field_test(names: tuple[str, ...], field: str, equal: bool, value: str) -> Test:
    """Return the test of one term of a field selector."""
    if field == NAME:
        return lambda entry: (entry.name == value) is equal
    if field == NAMESPACE:
        return lambda entry: (entry.namespace == value) is equal
    position = {name: position for position, name in enumerate(names)}[field]
    return lambda entry: (entry.fields[position] == value) is equal


def _label_tests(selector: LabelSelector) -> list[Test]:
    """Return tests of the selector's equalities, and the selector itself if it has other terms."""

    def equality(key: str, value: str) -> Test:
        return lambda entry: entry.labels.get(key) == value

    tests = [equality(key, value) for key, value in selector.equalities]
    if tests and len(tests) == len(selector.requirements):
        return tests
    return [*tests, lambda entry: selector.matches(entry.labels)]
