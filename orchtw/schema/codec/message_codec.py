"""Codec of one message: canonical dict ↔ JSON and Protobuf, with errors as the API words them.

The canonical dict is what a Go server would show as JSON: keys in emission order, zero values left out or present as
Go has them, special forms in their canonical text. So writing it with orjson gives the wire form.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

from orchtw.errors import BadRequest, Cause
from orchtw.schema.codec.mismatch import SchemaError
from orchtw.schema.codec.purposes import Generated
from orchtw.schema.nodes import StructSchema
from orchtw.schema.validation.validators import Validator

TOO_DEEP = "nested too deeply"
"""Error text for a value with more levels than Python can recurse into."""


class MessageCodec:
    """Reads and writes one message, such as ObjectMeta. Its functions are compiled when they are first used."""

    def __init__(self, schema: StructSchema, generated: Generated) -> None:
        self.schema = schema
        self.message = schema.name
        self._generated = generated

    @cached_property
    def _normalise(self) -> Callable[[Any], dict[str, Any]]:
        return self._generated.normalise[self.schema]

    @cached_property
    def _decode(self) -> Callable[[bytes, int, int], dict[str, Any]]:
        return self._generated.decode[self.schema]

    @cached_property
    def _validator(self) -> Validator | None:
        return self._generated.validate.find(self.schema)

    @cached_property
    def encode_protobuf(self) -> Callable[[dict[str, Any]], bytes]:
        """Canonical dict → message bytes, exactly as the reference encodes; `kind` and `apiVersion` stay outside."""
        return self._generated.encode[self.schema]

    @cached_property
    def set_defaults(self) -> Callable[[dict[str, Any]], None]:
        """Fills a canonical dict in place with the declared defaults; keys stay in emission order."""
        return self._generated.default[self.schema]

    def check(self, new: dict[str, Any], old: dict[str, Any] | None) -> list[Cause]:
        """Return every cause why a canonical dict breaks the rules that its schema declares, as `Validator`."""
        return [] if self._validator is None else self._validator(new, old)

    def check_part(self, key: str, new: dict[str, Any], old: dict[str, Any] | None) -> list[Cause]:
        """Return the causes of the struct under one of the top keys, such as `status`, with paths below it."""
        field = self.schema.keys.get(key)
        if field is None or not isinstance(field.node, StructSchema):
            return []
        validator = self._generated.validate.find(field.node)
        return [] if validator is None else validator(new, old)

    def refusal(self, why: str) -> BadRequest:
        """Return the 400 for a value that does not fit."""
        return BadRequest(f"{self.message.rpartition('.')[2]}: {why}")

    def normalise(self, value: object) -> dict[str, Any]:
        """Return a JSON-shaped value as canonical dict. Raises BadRequest naming the place that does not fit."""
        try:
            return self._normalise(value)
        except SchemaError as error:
            raise self.refusal(str(error)) from None
        except RecursionError:
            raise self.refusal(TOO_DEEP) from None

    def decode_protobuf(self, raw: bytes) -> dict[str, Any]:
        """Return a message as canonical dict. Raises BadRequest naming the place that cannot be read."""
        try:
            return self._decode(raw, 0, len(raw))
        except SchemaError as error:
            raise self.refusal(str(error)) from None
        except RecursionError:
            raise self.refusal(TOO_DEEP) from None

    def strict_findings(self, value: dict[str, Any], text: bytes = b"") -> list[str]:
        """Return unknown keys of a value that could be normalised, and repeated ones of the JSON text it came from.

        Texts such as `unknown field "spec.foo"` in the order of the value (reference WRITE-26). Raises BadRequest.
        """
        try:
            return self._generated.known.findings(self.schema, value, text)
        except RecursionError:
            raise self.refusal(TOO_DEEP) from None
