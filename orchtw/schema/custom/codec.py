"""The codec of a custom kind in one version (reference CRD-14, CRD-15, CRD-16, CRD-17)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import orjson

from orchtw.errors import BadRequest, Cause, Invalid
from orchtw.schema import cel
from orchtw.schema.catalogue import ResourceType
from orchtw.schema.codec.codecs import Codecs
from orchtw.schema.codec.kind_type import KindType
from orchtw.schema.codec.message_codec import TOO_DEEP
from orchtw.schema.codec.mismatch import Mismatch, SchemaError
from orchtw.schema.codec.refusals import unrecognized
from orchtw.schema.codec.strict_fields import IGNORE, repeated_keys
from orchtw.schema.codec.unchanged import in_order
from orchtw.schema.custom import patterns, wording
from orchtw.schema.custom.check_code import checks
from orchtw.schema.custom.extensions import Extensions, extensions
from orchtw.schema.custom.known_members import KnownMembers
from orchtw.schema.custom.marked import Marked
from orchtw.schema.custom.outcome import Outcome
from orchtw.schema.custom.parts import SchemaParts, Unsure
from orchtw.schema.custom.shape import Metadata, Overfilled, Shaper
from orchtw.schema.custom.shape_code import Misfit, shapes
from orchtw.schema.custom.structural import CustomSchema
from orchtw.schema.custom.terms import DEFAULT, ValidationTerms
from orchtw.schema.custom.validation import INLINE_STEPS, TooCostly, Validation, most_conditions
from orchtw.schema.nodes import StructSchema
from orchtw.values.causes import Literal, forbidden, invalid

if TYPE_CHECKING:
    from orchtw.schema.custom.rules import CelRules

LARGE_SCHEMA_BYTES: Final = 128 * 1024  # parsed in a few milliseconds
_MOST_COMPILED_BYTES = 8 * 1024  # of a schema of nothing but rules without patterns: in 30 ms
_WRONG_TYPE = "FieldValueTypeInvalid"
_BLOCKING: Final = frozenset(
    {"FieldValueNotSupported", "FieldValueRequired", "FieldValueTooLong", "FieldValueTooMany", _WRONG_TYPE}
)
"""Errors of the schema beside which rules are not looked at."""

_WHY_UNCHECKED: Final = (
    "some validation rules were not checked because the object was invalid; correct the existing errors to complete "
    "validation"
)
_UNCHECKED: Final = {
    True: wording.invalid(wording.NOWHERE, None, _WHY_UNCHECKED),
    False: invalid(wording.NOWHERE, Literal("null"), _WHY_UNCHECKED),
}
"""Cause for rules that were not looked at, by whether its value is quoted."""


class CustomCodec:
    """The `Codec` of a kind whose structural schema came at run time.

    Objects that it fits have the types that the schema declares: others are refused (422) with everything that is
    wrong. Nothing is compiled before the first `direct_looks` at objects, and then only what their parts need.
    """

    protobuf = False
    with_message = None
    unread = False
    direct_looks = 16
    """Looks that go the direct way before functions are written, which take 10 ms and half a MiB a kind."""

    _looks = 0
    _last: tuple[dict[str, Any], dict[str, Any] | None, list[str]] | None = None

    def __init__(
        self, resource: ResourceType, schema: StructSchema, codecs: Codecs, terms: ValidationTerms = DEFAULT
    ) -> None:
        self._terms = terms
        assert isinstance(schema, CustomSchema)
        self.api_version = resource.api_version
        self.kind = resource.kind
        self.schema = schema
        self.type = KindType(self.api_version, self.kind, schema, codecs.schemas, protobuf=False)
        self.type_prefix = self.item_prefix = self.type.prefix
        self._generated = codecs.generated  # its functions for metadata serve all kinds
        self._known = KnownMembers(codecs.generated.known_parts)

    @cached_property
    def _keys(self) -> Extensions:
        return extensions(self.schema.naming)

    @cached_property
    def _metadata(self) -> Metadata:
        schema = self.schema.metadata
        return Metadata(schema, self._generated.normalise[schema], self._generated.known)

    @cached_property
    def _shaped(self) -> SchemaParts:
        return shapes(self.schema.source, self._keys, self._metadata, self._known)

    @cached_property
    def _checked(self) -> SchemaParts:
        return checks(self.schema.source, self._keys, self._marked, self._known)

    @cached_property
    def _marked(self) -> Marked:
        return Marked(self._keys, self.schema.naming, self._terms.forms)

    @cached_property
    def _has_defaults(self) -> bool:
        return b'"default"' in self.schema.source

    def refusal(self, why: str) -> BadRequest:
        return self.type.refusal(why)

    def normalise(self, value: object) -> dict[str, Any]:
        """Return a JSON-shaped value as canonical dict, pruned, without defaults; kind and apiVersion may be absent.

        Raises BadRequest (400) for another version and for wrong metadata, and Invalid (422) for another kind and,
        unless errors of unchanged values are dropped, for values of wrong types.
        """
        return self._read(value, [], fill=False)

    def fit(self, value: object, directive: str, text: bytes = b"") -> tuple[dict[str, Any], list[str]]:
        """Return object and findings; the value must name its kind and apiVersion. Raises as `normalise` does."""
        self._check_named(value)
        lost: list[str] = []
        obj = self._read(value, lost, fill=True)
        if directive == IGNORE:
            return obj, []
        return obj, self._findings(value, text, pruned=bool(lost))

    def fit_message(
        self, api_version: str, kind: str, raw: bytes, live: dict[str, Any] | None = None, live_raw: bytes = b""
    ) -> dict[str, Any]:
        """Refuse a Protobuf message (400)."""
        raise self.refusal("it has no Protobuf form")

    def fit_changes(
        self, value: dict[str, Any], live: dict[str, Any], directive: str, text: bytes = b""
    ) -> tuple[dict[str, Any], list[str]]:
        """Return the result of `fit`: defaults and pruning may reach any part but those of metadata."""
        meta, live_meta = value.get("metadata"), live.get("metadata")
        if text or type(meta) is not dict or type(live_meta) is not dict:
            return self.fit(value, directive, text)
        keys = self.schema.metadata.keys
        kept = {
            key: part
            for key, part in meta.items()
            if key in keys and part is live_meta.get(key) and (type(part) is dict or type(part) is list)
        }
        left = {key: part for key, part in meta.items() if key not in kept}
        obj, findings = self.fit({**value, "metadata": left}, directive)
        obj["metadata"] = in_order({**obj["metadata"], **kept}, keys)
        return obj, findings

    def strict_findings(self, value: dict[str, Any], text: bytes = b"") -> list[str]:
        """Return pruned fields as unknown ones, and repeated keys."""
        return self._findings(value, text, pruned=True)

    def set_defaults(self, obj: dict[str, Any]) -> None:
        """Fill a canonical dict in place with the defaults of the schema; keys stay in order."""
        if self._has_defaults:
            self._fill(obj)

    def refresh(self, obj: dict[str, Any]) -> dict[str, Any]:
        """Return an object from the store as the schema is now: pruned, with defaults unless they are far too many.

        What no longer fits stays.
        """
        return self._in_shape(obj, fill=True)

    def pruned(self, obj: dict[str, Any]) -> dict[str, Any]:
        """Return an object that another version became, as canonical dict of this one. What does not fit stays."""
        return self._in_shape(obj, fill=False)

    def _in_shape(self, obj: dict[str, Any], *, fill: bool) -> dict[str, Any]:
        try:
            if self._is_used():
                return self.type.of(self._shaped(obj, fill, []))
        except Overfilled:
            fill = False
        except (Misfit, Unsure, SchemaError):
            pass
        try:
            shaper = Shaper(self._keys, self._metadata, fill=fill, lenient=True)
            return self.type.of(shaper.root(obj, self.schema.structure()))
        except Overfilled:
            return self._in_shape(obj, fill=False)

    def _is_used(self) -> bool:
        """Report whether enough objects have been seen for generated functions to pay; this one counts too."""
        self._looks += 1
        return self._looks > self.direct_looks

    def check(self, new: dict[str, Any], old: dict[str, Any] | None) -> list[Cause]:
        """Return every cause why `new` may not replace `old` (None: it is created), of very many the first.

        Rules in expressions come last, for objects that fit the rest of the schema or break it in ways that rules
        can stand.
        """
        outcome = self.outcome(new, old)
        # Warnings are asked for next: rules are too dear to run again.
        self._last = (new, old, outcome.excused) if self._excuses(old) else None
        return outcome.causes

    def excused(self, new: dict[str, Any], old: dict[str, Any] | None) -> list[str]:
        """Return the texts of broken rules that values break which have not changed, as warnings."""
        if not self._excuses(old):
            return []
        last, self._last = self._last, None
        if last is not None and last[0] is new and last[1] is old:
            return last[2]
        return self.outcome(new, old).excused

    def _excuses(self, old: dict[str, Any] | None) -> bool:
        return self._terms.ratchets and old is not None and self._has_rules

    def outcome(self, new: dict[str, Any], old: dict[str, Any] | None) -> Outcome:
        """Return the causes against `new`, and the texts of those that unchanged values excuse."""
        found = [] if self._is_certain(new) else self._direct_causes(new, self.schema.structure(), "", old)
        if self._rules is None or (found and not self._terms.tells_unchecked):
            return Outcome(found, [])
        if unchecked := self._unchecked(found):
            return Outcome(found + unchecked, [])
        outcome = self._rules.outcome(new, old, self._terms)
        return Outcome(found + outcome.causes, outcome.excused)

    def _unchecked(self, found: Sequence[Cause]) -> list[Cause]:
        """Return the cause for rules that are not looked at beside the causes that were found."""
        if not (self._has_rules and self._terms.tells_unchecked and any(each.reason in _BLOCKING for each in found)):
            return []
        return [_UNCHECKED[self._terms.quotes_null]]

    def check_part(self, key: str, new: dict[str, Any], old: dict[str, Any] | None) -> list[Cause]:
        """Return the causes of the part under one of the top keys, with paths below it."""
        schema = (self.schema.structure().get("properties") or {}).get(key)
        found = [] if schema is None else self._direct_causes(new, schema, key, old)
        return [Cause(each.reason, each.message, _below(key, each.field)) for each in found]

    def work_bytes(self, size_bytes: int) -> int:
        """Return the size of the work: a large schema is parsed, may have large defaults, and patterns to compile."""
        return size_bytes + self._own_bytes

    @cached_property
    def _own_bytes(self) -> int:
        source = self.schema.source
        slow = len(source) > LARGE_SCHEMA_BYTES or patterns.are_heavy(source)
        return max(len(source), LARGE_SCHEMA_BYTES) if slow else 0

    def may_take_long(self, size_bytes: int) -> bool:
        """Report whether an object of that size may hold the reactor: by conditions, by rules or compiling them."""
        if size_bytes // 2 * self._conditions > INLINE_STEPS:
            return True
        if not self._has_rules:
            return False
        if "_rules" not in self.__dict__ and self._compiles_long(self.schema.source):
            return True
        return self._rules is not None and self._rules.may_take_long(size_bytes)

    @staticmethod
    def _compiles_long(source: bytes) -> bool:
        if not cel.are_loaded() or len(source) > _MOST_COMPILED_BYTES:
            return True
        return b"matches(" in source or b"find" in source

    @cached_property
    def _conditions(self) -> int:
        """Return the largest number of conditions for one value."""
        if not any(word in self.schema.source for word in (b'Of"', b'"not"')):
            return 0
        return most_conditions(self.schema.structure())

    @cached_property
    def _has_rules(self) -> bool:
        return self._keys.validations.encode() in self.schema.source

    @cached_property
    def _rules(self) -> CelRules | None:
        """Return the rules in expressions, for values that fit the rest of the schema."""
        if not self._has_rules:
            return None
        from orchtw.schema.custom.rules import rules_of  # time that the start is spared

        return rules_of(self.schema.structure(), self.schema.naming)

    def _is_certain(self, obj: dict[str, Any]) -> bool:
        """Report whether a quick check finds the object valid."""
        try:
            return self._is_used() and bool(self._checked(obj))
        except Unsure:
            return False

    def _direct_causes(self, value: Any, schema: Any, path: str, old: Any = None) -> list[Cause]:
        try:
            before = old if self._terms.ratchets else None
            found = Validation(self._keys, forms=self._terms.forms).causes(value, schema, path, before)
            return found + self._marked.causes(value, schema, path, old)
        except TooCostly:
            return [forbidden(path or wording.NOWHERE, "it takes too much work to be validated")]

    def _fill(self, obj: dict[str, Any]) -> None:
        metadata = obj.get("metadata")
        filled = self.refresh(obj)
        obj.clear()
        obj.update(filled)
        if metadata is not None:
            obj["metadata"] = metadata  # it has no defaults, and defaulting keeps a reference to it

    def _read(self, value: object, lost: list[str], *, fill: bool) -> dict[str, Any]:
        if type(value) is not dict:
            raise self.refusal(str(Mismatch("an object", value)))
        if value.get("apiVersion") != self.api_version or value.get("kind") != self.kind:
            self._check_named_type(value)
        try:
            return self.type.of(self._shape(value, lost, fill=fill))
        except SchemaError as error:
            raise self.refusal(str(error)) from None
        except Overfilled:
            causes = [forbidden(wording.NOWHERE, "its defaults would take too much room")]
            raise self._invalid(value, causes) from None
        except RecursionError:
            raise self.refusal(TOO_DEEP) from None

    def _shape(self, value: dict[str, Any], lost: list[str], *, fill: bool) -> dict[str, Any]:
        """Return the shaped object: the direct way where the quick one is too costly or finds no answer."""
        is_unfit = False
        try:
            if self._is_used():
                return self._shaped(value, fill, lost)  # type: ignore[no-any-return]
        except (Misfit, Unsure, SchemaError) as doubt:
            is_unfit = isinstance(doubt, Misfit)
        shaper = Shaper(self._keys, self._metadata, fill=fill)
        obj = shaper.root(value, self.schema.structure())
        causes = self._direct_causes(self.type.of(obj), self.schema.structure(), "")
        lost += shaper.lost
        # Ratcheting may excuse a value of a wrong type: that is decided with the stored object, by `outcome`.
        if causes and not self._terms.ratchets and (is_unfit or any(each.reason == _WRONG_TYPE for each in causes)):
            raise self._invalid(obj, causes + self._unchecked(causes))
        return obj

    def _findings(self, value: Any, text: bytes, *, pruned: bool) -> list[str]:
        try:
            found = repeated_keys(text, value) if text else []
            if pruned:
                shaper = Shaper(self._keys, self._metadata, fill=False)
                shaper.root(value, self.schema.structure())
                found += shaper.lost
        except RecursionError:
            raise self.refusal(TOO_DEEP) from None
        return found

    def _check_named(self, value: object) -> None:
        """Refuse a body without its type."""
        for name, shown in (("kind", "Kind"), ("apiVersion", "apiVersion")):
            if type(value) is dict and not value.get(name):
                body = _json(value)
                raise unrecognized(body, self.kind, f"Object '{shown}' is missing in '{_beginning(body)}'")

    def _check_named_type(self, value: dict[str, Any]) -> None:
        """Refuse what names another kind (422) or version (400); nothing counts as given by the URL."""
        api_version, kind = value.get("apiVersion") or self.api_version, value.get("kind") or self.kind
        if type(api_version) is str and api_version != self.api_version:
            raise self.type.other_version(api_version)
        if type(api_version) is str and type(kind) is str and kind != self.kind:
            raise self._invalid(value, [wording.invalid("kind", kind, f"must be {self.kind}")])
        self.type.check(api_version, kind)

    def _invalid(self, obj: dict[str, Any], causes: Sequence[Cause]) -> Invalid:
        meta = obj.get("metadata")
        name = (meta.get("name") or meta.get("generateName")) if type(meta) is dict else ""
        group = self.api_version.rpartition("/")[0]
        return Invalid.of(self.kind, group, name if type(name) is str else "", causes)


_SHOWN_BYTES = 512


def _beginning(body: bytes) -> str:
    text = body[:_SHOWN_BYTES].decode("utf-8", "replace")
    return text if len(body) <= _SHOWN_BYTES else text + "..."


def _json(value: Any) -> bytes:
    try:
        return orjson.dumps(value)
    except orjson.JSONEncodeError:  # an integer beyond 64 bits
        return b"{}"


def _below(key: str, field: str) -> str:
    return field.removeprefix(key).removeprefix(".")
