"""Type of the objects of one codec: the kind and version that they name, and refusals of others."""

from __future__ import annotations

from typing import Any

import orjson

from orchtw.errors import BadRequest
from orchtw.schema.codec.mismatch import Mismatch, shortened
from orchtw.schema.codec.refusals import internal_package, mishandled
from orchtw.schema.nodes import StructSchema
from orchtw.schema.schemas import Schemas


class KindType:
    """Kind and apiVersion of the objects of a schema, in one version."""

    def __init__(
        self, api_version: str, kind: str, schema: StructSchema, schemas: Schemas, *, protobuf: bool
    ) -> None:
        self.api_version = api_version
        self.kind = kind
        self.fields = {"kind": kind, "apiVersion": api_version} if schema.kind else {}
        self.prefix = orjson.dumps(self.fields)[:-1] + (b"," if self.fields else b"")
        self._message = schema.name
        self._is_list = schema.kind == "list"
        self._schemas = schemas
        self._protobuf = protobuf

    def of(self, fields: dict[str, Any]) -> dict[str, Any]:
        """Return the object with these fields below its type."""
        if self._is_list and fields.get("items") is None:
            fields["items"] = []  # a list is never null (reference OBJ-14)
        return {**self.fields, **fields}

    def refusal(self, why: str) -> BadRequest:
        """Return the 400 for an object that does not fit (reference ERR-15)."""
        return mishandled(self.api_version, self.kind, self.kind, why)

    def check(self, api_version: object, kind: object) -> None:
        """Refuse another apiVersion or kind; empty or None counts as given by the URL.

        Raises BadRequest (reference ERR-15, WRITE-7).
        """
        found_version, found = api_version or self.api_version, kind or self.kind
        if found_version == self.api_version and found == self.kind:
            return
        if type(found_version) is not str or type(found) is not str:
            name, value = ("kind", found) if type(found_version) is str else ("apiVersion", found_version)
            raise self.refusal(str(Mismatch("a string", value).within(name)))
        message = self._schemas.message_of(found_version, found)
        if message == self._message:
            return
        found_version, found = shortened(found_version), shortened(found)
        if message is None:
            why = f'no kind "{found}" is registered for version "{found_version}"'
            if foreign := self._schemas.naming.foreign(found_version.rpartition("/")[0]):
                why += f" ({foreign})"
            raise mishandled(found_version, found, self.kind, why)
        if found != self.kind:
            raise mishandled(found_version, found, self.kind, self._unconverted(message, found_version, found))
        raise self.other_version(found_version)

    def other_version(self, found: str) -> BadRequest:
        """Return the 400 for an object in another version (reference WRITE-7)."""
        return BadRequest(
            f"the API version in the data ({shortened(found)}) does not match "
            f"the expected API version ({self.api_version})"
        )

    def _unconverted(self, message: str, found_version: str, found: str) -> str:
        """Return why an object of another known kind is not one of this kind, in the names of Go's types."""
        if not self._protobuf or self._schemas.is_added(message):
            return f"it is not a {self.kind}"
        package = internal_package(self._schemas.naming.neutral(self.api_version.rpartition("/")[0]))
        shown = found_version.rpartition("/")[2]
        return f"converting ({shown}.{found}) to ({package}.{self.kind}): unknown conversion"
