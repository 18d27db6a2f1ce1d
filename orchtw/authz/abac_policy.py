"""Parser of `--authorization-policy-file`: a JSON object on each line (reference AUTHZ-24)."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from twisted.logger import Logger

from orchtw.authz.abac import AbacPolicy, Policies
from orchtw.config.authorization import AuthorizationOptions
from orchtw.errors import ConfigError
from orchtw.naming.naming import Naming
from orchtw.values.causes import go_quote
from orchtw.wire.json_values import loads

_FLAG: Final = "--authorization-policy-file"
_GROUP: Final = "abac.authorization.orch.io"
_KIND: Final = "Policy"
_SHOWN: Final = 200
"""Most characters of an invalid line that the error quotes."""

_log = Logger()


class _Wrong(ValueError):
    """An invalid policy line; the text says why."""


def from_flags(options: AuthorizationOptions, naming: Naming) -> Policies:
    """Return the authorizer for the policies of the file, which is read once. Raises ConfigError as `load` does."""
    path = options.policy_file
    assert path is not None
    return Policies(load(path, naming))


def load(path: Path, naming: Naming) -> list[AbacPolicy]:
    """Return the policies of a UTF-8 file; blank lines and lines that begin with `#` are skipped.

    Unversioned and v0 lines are accepted, with one logged warning. Raises ConfigError, naming the file and, for an
    invalid policy, the line.
    """
    policies, unversioned = [], 0
    for number, line in enumerate(_text(path).split("\n"), 1):
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        try:
            policy, versioned = _policy(text, naming)
        except _Wrong as error:
            shown = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
            why = f"error reading policy file {path}, line {number}: {shown}: {error}"
            raise ConfigError(f"{_FLAG}: {why}") from None
        policies.append(policy)
        unversioned += not versioned
    if unversioned:
        _log.warn("policy file {path} contained unversioned rules: {count}", path=path, count=unversioned)
    return policies


def _text(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise ConfigError(f"{_FLAG}: {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ConfigError(f"{_FLAG}: {path}: is not UTF-8 text") from None


def _policy(text: str, naming: Naming) -> tuple[AbacPolicy, bool]:
    """Parse a line into its policy, and whether it is of v1beta1. Raises _Wrong."""
    try:
        line = loads(text)
    except ValueError as error:
        raise _Wrong(f"is not JSON: {error}") from None
    if not isinstance(line, dict):
        raise _Wrong("is not a JSON object")
    version, kind = _field(line, "apiVersion", str, ""), _field(line, "kind", str, "")
    group = naming.group(_GROUP)
    if not version and not kind:
        return _unversioned(line), False
    if not version:
        raise _Wrong("Object 'apiVersion' is missing")
    if not kind:
        raise _Wrong("Object 'Kind' is missing")
    if kind == _KIND and version == f"{group}/v0":
        return _unversioned(line), False
    if kind == _KIND and version == f"{group}/v1beta1":
        return _versioned(_field(line, "spec", dict, {})), True
    raise _Wrong(f"no kind {go_quote(kind)} is registered for version {go_quote(version)}: use {group}/v1beta1")


def _versioned(spec: dict[str, Any]) -> AbacPolicy:
    return AbacPolicy(
        user=_field(spec, "user", str, ""),
        group=_field(spec, "group", str, ""),
        readonly=_field(spec, "readonly", bool, False),
        api_group=_field(spec, "apiGroup", str, ""),
        resource=_field(spec, "resource", str, ""),
        namespace=_field(spec, "namespace", str, ""),
        path=_field(spec, "nonResourcePath", str, ""),
    ).for_authenticated()


def _unversioned(line: dict[str, Any]) -> AbacPolicy:
    """Convert an unversioned or v0 policy, in which an omitted field matches anything, in every API group."""
    user, group = _field(line, "user", str, ""), _field(line, "group", str, "")
    namespace, resource = _field(line, "namespace", str, ""), _field(line, "resource", str, "")
    return AbacPolicy(
        user=user,
        group=group if user or group else "*",
        readonly=_field(line, "readonly", bool, False),
        api_group="*",
        resource=resource or "*",
        namespace=namespace or "*",
        path="" if namespace or resource else "*",
    ).for_authenticated()


def _field(fields: dict[str, Any], name: str, kind: type, missing: Any) -> Any:
    """Return a field, or `missing` if it is absent or null. Raises _Wrong for another type."""
    value = fields.get(name)
    if value is None:
        return missing
    if not isinstance(value, kind):
        raise _Wrong(f"{name} must be a {_TYPES[kind]}")
    return value


_TYPES: Final = {str: "string", bool: "boolean", dict: "JSON object"}
