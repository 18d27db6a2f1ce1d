"""Options of a create, update or patch, dry run included (reference WRITE-17, WRITE-20, WRITE-23)."""

from __future__ import annotations

from typing import Final

import msgspec

from orchtw.errors import Cause
from orchtw.naming.naming import Naming
from orchtw.rules.dry_run import is_dry_run
from orchtw.rules.options import Params, raise_invalid, text
from orchtw.rules.request_info import flag
from orchtw.values.causes import forbidden, not_supported, required
from orchtw.values.field_managers import field_manager_causes

_VALIDATIONS: Final = ("", "Ignore", "Strict", "Warn")


class WriteOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Options of a create, update or patch. `field_manager` is empty if unset; `force` is for apply only."""

    dry_run: bool = False
    field_manager: str = ""
    field_validation: str = ""
    force: bool = False


_PLAIN_WRITE: Final = WriteOptions()


def create_options(params: Params, naming: Naming) -> WriteOptions:
    """Return the options of a create. Raises Invalid (422)."""
    return _write_options("CreateOptions", params, naming)


def update_options(params: Params, naming: Naming) -> WriteOptions:
    """Return the options of an update. Raises Invalid (422)."""
    return _write_options("UpdateOptions", params, naming)


def patch_options(params: Params, naming: Naming, *, apply: bool) -> WriteOptions:
    """Return the options of a patch. Only server-side apply may force, and it needs a field manager.

    Raises Invalid (422).
    """
    causes = []
    if not apply and "force" in params:
        causes.append(forbidden("force", "may not be specified for non-apply patch"))
    if apply and not text(params, "fieldManager"):
        causes.append(required("fieldManager", "is required for apply patch"))
    return _write_options("PatchOptions", params, naming, causes)


def _write_options(kind: str, params: Params, naming: Naming, causes: list[Cause] | None = None) -> WriteOptions:
    causes = causes or []
    if not params and not causes:
        return _PLAIN_WRITE
    manager, validation = text(params, "fieldManager"), text(params, "fieldValidation")
    causes += field_manager_causes(manager, "fieldManager")
    dry_run = is_dry_run(params.get("dryRun", []), causes)
    if validation not in _VALIDATIONS:
        causes.append(not_supported("fieldValidation", validation, _VALIDATIONS))
    raise_invalid(kind, causes, naming)
    return WriteOptions(
        dry_run=dry_run, field_manager=manager, field_validation=validation, force=flag(params, "force")
    )
