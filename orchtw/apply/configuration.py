"""Parsing of the applied configuration, the body of a server-side apply (reference APPLY-19)."""

from __future__ import annotations

from typing import Any

from orchtw.errors import BadRequest
from orchtw.schema.codec.json_text import parse_json
from orchtw.schema.codec.mismatch import describe
from orchtw.schema.codec.strict_fields import IGNORE, STRICT, repeated_keys
from orchtw.schema.codec.yaml_codec import parse_yaml
from orchtw.wire.objects import Object


def read_configuration(body: bytes, directive: str) -> tuple[Object, list[str]]:
    """Return the applied configuration, and its duplicate keys unless the field validation directive is Ignore.

    The body is YAML or JSON; the last of duplicate keys counts. Unknown fields are rejected later, by the type check.
    Raises BadRequest (400), under Strict also for duplicate keys.
    """
    findings: list[str] = []
    try:
        document: Any = parse_json(body)
        findings = repeated_keys(body, document)
    except ValueError:
        document = _read_yaml(body, findings)
    except RecursionError:
        raise BadRequest("error decoding YAML: nested too deeply") from None
    if findings and directive == STRICT:
        raise BadRequest("error strict decoding YAML: " + ", ".join(findings))
    if not isinstance(document, dict):
        raise BadRequest(f"error decoding YAML: expected an object, got {describe(document)}")
    return document, findings if directive != IGNORE else []


def _read_yaml(body: bytes, findings: list[str]) -> Any:
    try:
        return parse_yaml(body, findings)
    except ValueError as error:
        raise BadRequest(f"error decoding YAML: {error}") from None
