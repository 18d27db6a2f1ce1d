"""Validation of secrets: the contents of known types (reference KIND-30, KIND-34)."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from typing import Final

from orchtw.errors import Cause
from orchtw.naming.naming import Naming
from orchtw.registry.groups.core.payload import MAX_PAYLOAD_BYTES, encoded_bytes, immutability
from orchtw.schema.codec.json_text import parse_json
from orchtw.schema.validation.problems import IMMUTABLE
from orchtw.values.causes import invalid, required, too_long
from orchtw.wire.objects import Object

_REDACTED: Final = "<secret contents redacted>"
_NO_MAP: Final = "json: cannot unmarshal {} into Go value of type map[string]interface {{}}"
_KINDS: Final = {list: "array", str: "string", bool: "bool", int: "number", float: "number"}


def validate_secret(new: Object, old: Object | None, naming: Naming) -> list[Cause]:
    """Validate the size of the data, the keys that the type requires, and the changes of an update."""
    data, kind = new.get("data") or {}, new.get("type", "")
    causes = [too_long("data", MAX_PAYLOAD_BYTES)] if encoded_bytes(data) > MAX_PAYLOAD_BYTES else []
    neutral = naming.untranslated(kind)
    if (check := _CHECKS.get(neutral)) is not None and naming.translate(neutral) == kind:
        causes += check(new, data, naming)
    if old is not None:
        if kind != old.get("type", ""):
            causes.append(invalid("type", kind, IMMUTABLE))
        causes += immutability(new, old, "data")
    return causes


def _check_account(secret: Object, data: Mapping[str, str], naming: Naming) -> list[Cause]:
    annotation = naming.service_account_name_annotation
    if (secret["metadata"].get("annotations") or {}).get(annotation):
        return []
    return [required(f"metadata.annotations[{annotation}]")]


def _check_registry(data: Mapping[str, str], key: str) -> list[Cause]:
    """Return the causes if credentials for image registries are not a JSON object."""
    path = f"data[{key}]"
    if key not in data:
        return [required(path)]
    text = base64.b64decode(data[key])
    try:
        content = parse_json(text)
    except ValueError as error:
        return [invalid(path, _REDACTED, str(error) if text else "unexpected end of JSON input")]
    if content is None or isinstance(content, dict):
        return []
    return [invalid(path, _REDACTED, _NO_MAP.format(_KINDS[type(content)]))]


def _check_password(secret: Object, data: Mapping[str, str], naming: Naming) -> list[Cause]:
    """Name or password, of which either may be empty."""
    if "username" in data or "password" in data:
        return []
    return [required("data[%s][username]"), required("data[%s][password]")]


def _check_key(secret: Object, data: Mapping[str, str], naming: Naming) -> list[Cause]:
    return [] if data.get("ssh-privatekey") else [required("data[%s][ssh-privatekey]")]


def _check_certificate(secret: Object, data: Mapping[str, str], naming: Naming) -> list[Cause]:
    return [required(f"data[{key}]") for key in ("tls.crt", "tls.key") if key not in data]


_CHECKS: Final[Mapping[str, Callable[[Object, Mapping[str, str], Naming], list[Cause]]]] = {
    "orch.io/service-account-token": _check_account,
    "orch.io/dockercfg": lambda secret, data, naming: _check_registry(data, ".dockercfg"),
    "orch.io/dockerconfigjson": lambda secret, data, naming: _check_registry(data, ".dockerconfigjson"),
    "orch.io/basic-auth": _check_password,
    "orch.io/ssh-auth": _check_key,
    "orch.io/tls": _check_certificate,
}
"""Checks by type, in neutral names."""
