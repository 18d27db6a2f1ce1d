"""Patch types by name: parsing, application and error texts of each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec
import orjson

from orchtw.apply.json_patch import json_patch, parse_json_patch, unknown_members
from orchtw.apply.merge_patch import merge_patch, parse_merge_patch
from orchtw.apply.restoring import restoring_fault
from orchtw.apply.shown import cut, go_plain
from orchtw.apply.strategic_merge_patch import parse_strategic_patch, strategic_merge
from orchtw.schema.codec.strict_fields import repeated_keys
from orchtw.schema.nodes import StructSchema
from orchtw.wire.objects import Object


class Mechanism(msgspec.Struct, frozen=True, kw_only=True):
    """Patch type.

    `parse`: body → document; raises BadRequest (400). `apply`: object, document and the object's schema → result,
    which may be any JSON value and share parts with both; it modifies the object in place unless it `copies`.
    `quote`: document and result → text for an error (422). `fault`: schema and result → error text of this patch type
    if they do not match, else empty. `surplus`: document → findings about unknown members.
    """

    parse: Callable[[bytes], Any]
    apply: Callable[[Object, Any, StructSchema], Any]
    quote: Callable[[Any, Any], str]
    fault: Callable[[StructSchema, Any], str] = lambda schema, patched: ""
    copies: bool = True
    surplus: Callable[[Any], list[str]] = lambda document: []
    finding_prefix: str = ""

    def findings(self, body: bytes, document: Any) -> list[str]:
        """Return the field validation findings in a patch: unknown members, duplicate keys (reference WRITE-28)."""
        repeated = repeated_keys(body, document)
        return [*self.surplus(document), *(self.finding_prefix + text for text in repeated)]


def _quote_result(document: Any, patched: Any) -> str:
    try:
        return cut(orjson.dumps(patched).decode())
    except orjson.JSONEncodeError:  # nested too deeply for orjson
        return "..."


MECHANISMS: Final[Mapping[str, Mechanism]] = {
    "json": Mechanism(
        parse=parse_json_patch,
        apply=lambda obj, operations, schema: json_patch(obj, operations),
        quote=_quote_result,
        copies=False,
        surplus=unknown_members,
        finding_prefix="json patch ",
    ),
    "merge": Mechanism(
        parse=parse_merge_patch,
        apply=lambda obj, document, schema: merge_patch(obj, document),
        quote=_quote_result,
    ),
    "strategic": Mechanism(
        parse=parse_strategic_patch,
        apply=strategic_merge,
        quote=lambda document, patched: go_plain(document),
        fault=restoring_fault,
    ),
}
