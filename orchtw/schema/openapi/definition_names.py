"""Names in OpenAPI documents: definitions, operations, tags and the extensions' keys."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from orchtw.naming.naming import Naming

_HOST = "orch.io."
_HOST_REVERSED = "io.orch."


@lru_cache(maxsize=4096)  # some 900 messages in two vocabularies
def definition_name(message: str, naming: Naming) -> str:
    """Return a message's definition: the host part reversed, as in `io.orch.api.core.v1.Pod` (reference OPENAPI-8).

    The name of a schema without a message is already that of its definition.
    """
    if not is_message(message):
        return message
    path = message.removeprefix(_HOST).replace("_", "-")
    return naming.translate(f"{_HOST_REVERSED}{path}")


def is_message(name: str) -> bool:
    """Report whether a schema's name is that of a message of the release."""
    return name.startswith(_HOST)


def short_name(message: str) -> str:
    """Return the last part of a message's full name: `Pod`."""
    return message.rpartition(".")[2]


def title(word: str) -> str:
    """Return `word` with its first letter in upper case and the rest unchanged."""
    return word[:1].upper() + word[1:]


def group_title(group: str, naming: Naming) -> str:
    """Return a group's name inside operation ids: `Core`, `Apps`, `RbacAuthorization`, without the API's domain."""
    own = group.removesuffix(f".{naming.api_domain}") if group else "core"
    return "".join(title(part) for part in own.split("."))


def tag(group: str, version: str, naming: Naming) -> str:
    """Return the tag of a group version, `rbacAuthorization_v1`, or of a group as a whole, `rbacAuthorization`."""
    name = group_title(group, naming)
    name = name[:1].lower() + name[1:]
    return f"{name}_{version}" if version else name


def selectable_fields(fields: Sequence[str], prefix: str) -> dict[str, list[dict[str, str]]]:
    """Return the extension that lists the fields of selectors, beside those of metadata; empty without any.

    `prefix` is that of extensions, in the served vocabulary.
    """
    found = [{"fieldPath": field} for field in fields if not field.startswith("metadata.")]
    return {f"{prefix}selectable-fields": found} if found else {}


def group_version_kind(group: str, version: str, kind: str) -> dict[str, str]:
    """Return the value that names a kind in extensions."""
    return {"group": group, "kind": kind, "version": version}
