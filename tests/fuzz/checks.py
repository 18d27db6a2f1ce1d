"""Invariants of every response."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import quote

from orchtw.values import names
from tests.fuzz.answers import Answer
from tests.fuzz.case import Case
from tests.fuzz.surface import Surface

_EXPECTED_500 = (
    "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.",
    "no preferred addresses found; known addresses: [",
    "error dialing backend: ",
    'Get "https://',
    "conversion webhook for ",
    "Internal error occurred: the spec replicas field ",
    " without impersonating a user",
)
"""What is in answers that the API itself gives with this code (reference KIND-23, PROXY-1, PROXY-7, PROXY-8, CRD-24,
CRD-62, AUTHN-40).
"""

_ACCESSOR = re.compile(r"Internal error occurred: (?:\.\w+)+ accessor error: ")
"""The same, with the path of a Scale in front: the value there is of another type (reference CRD-62)."""


def problems(case: Case, audit_id: str, answer: Answer, surface: Surface) -> tuple[list[str], Any]:
    """Everything that is wrong with an answer, and the value of its body."""
    found = []
    if answer.headers.get("audit-id", "") != audit_id and not _unread(answer):
        found.append(f"the answer's Audit-Id is {answer.headers.get('audit-id')!r}, not {audit_id!r}")
    try:
        value = answer.value(surface.codecs, surface.naming.protobuf_media_type)
    except Exception as error:  # whatever a parser says: the body is not what its type says
        return [*found, f"the body is no {answer.media_type}: {type(error).__name__}: {error}"], None
    found += _of_code(answer, value)
    return found, value


def _unread(answer: Answer) -> bool:
    """Report whether the server parsed no whole request: then the response has no Audit-Id."""
    return answer.code == 413 or (answer.code == 400 and b'"malformed HTTP request' in answer.body)


def _of_code(answer: Answer, value: Any) -> list[str]:
    """Return the contradiction between code and body, if any."""
    code = answer.code
    if code == 500:
        if isinstance(value, dict):
            message = value.get("message", "")
            expected = message.startswith(_EXPECTED_500) or _ACCESSOR.match(message)
            return [] if expected else [f"500: {message}"]
        text = answer.body.decode(errors="replace")  # all of it: the path that comes first may be long
        return [] if any(words in text for words in _EXPECTED_500) else [f"500: {text[:500]}"]
    if code < 400 or not isinstance(value, dict) or set(value) == {"paths"}:
        return []
    if (value.get("kind"), value.get("status"), value.get("code")) != ("Status", "Failure", code):
        return [f"the body of a {code} is no Status of that code: {str(value)[:200]}"]
    return []


def object_path(value: Any, surface: Surface) -> str:
    """Return the path of a stored object, or ""."""
    if not isinstance(value, dict):
        return ""
    resource = surface.resource_of(value.get("apiVersion", ""), value.get("kind", ""))
    meta = value.get("metadata")
    if resource is None or not isinstance(meta, dict) or not meta.get("resourceVersion"):
        return ""
    if names.path_segment(meta["name"]):
        return ""
    return f"{surface.collection(resource, meta.get('namespace', ''))}/{quote(meta['name'], safe='')}"
