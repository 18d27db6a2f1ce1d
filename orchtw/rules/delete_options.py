"""Options of a delete or deletecollection, from the body or the query (reference DEL-1, DEL-2, DEL-21)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal

import msgspec

from orchtw.errors import Cause
from orchtw.naming.naming import Naming
from orchtw.rules.dry_run import is_dry_run
from orchtw.rules.options import Params, integer, raise_invalid, text
from orchtw.rules.request_info import flag
from orchtw.values.causes import invalid, not_supported

Propagation = Literal["Orphan", "Background", "Foreground"]

IGNORE_READ_ERRORS: Final = "ignoreStoreReadErrorWithClusterBreakingPotential"
"""Option to delete an object that cannot be read (reference DEL-21)."""

_POLICIES: Final = ("Foreground", "Background", "Orphan")


class DeleteOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Options of a delete. None means unset, as do empty preconditions. Negative grace periods become 1 s.

    `ignore_read_errors`: only an object that cannot be read is deleted.
    """

    dry_run: bool = False
    grace_period_s: int | None = None
    propagation: Propagation | None = None
    orphan_dependents: bool | None = None
    precondition_uid: str | None = None
    precondition_version: str | None = None
    ignore_read_errors: bool = False


_PLAIN_DELETE: Final = DeleteOptions()


def delete_options(
    params: Params, body: Mapping[str, Any] | None, naming: Naming, *, unsafe: bool = False
) -> DeleteOptions:
    """Return the options of a delete or deletecollection: of `body`, a decoded DeleteOptions, else of the query.

    The query's dryRun also counts if the body has none, so that a dry run never deletes an object (reference DEL-2).
    Without `unsafe`, the option to ignore read errors is dropped (reference DEL-21).

    Raises BadRequest (400) and Invalid (422).
    """
    given = _delete_query(params) if body is None else body
    if not given and "dryRun" not in params:
        return _PLAIN_DELETE
    policy, orphan = given.get("propagationPolicy"), given.get("orphanDependents")
    causes: list[Cause] = []
    if policy is not None and orphan is not None:
        why = "orphanDependents and deletionPropagation cannot be both set"
        causes.append(invalid("propagationPolicy", policy, why))
    if policy is not None and policy not in _POLICIES:
        causes.append(not_supported("propagationPolicy", policy, (*_POLICIES, "nil")))
    dry_run = is_dry_run(given.get("dryRun") or params.get("dryRun", []), causes)
    ignores = unsafe and bool(given.get(IGNORE_READ_ERRORS))
    if ignores:
        causes += _unsafe_causes(given, dry_run)
    raise_invalid("DeleteOptions", causes, naming)
    grace_s = given.get("gracePeriodSeconds")
    preconditions = given.get("preconditions") or {}
    return DeleteOptions(
        dry_run=dry_run,
        grace_period_s=1 if grace_s is not None and grace_s < 0 else grace_s,
        propagation=policy,
        orphan_dependents=orphan,
        precondition_uid=preconditions.get("uid"),
        precondition_version=preconditions.get("resourceVersion"),
        ignore_read_errors=ignores,
    )


def _unsafe_causes(given: Mapping[str, Any], dry_run: bool) -> list[Cause]:
    """Return the causes for options that exclude the one to ignore read errors."""
    others = ("propagationPolicy", "orphanDependents", "gracePeriodSeconds", "preconditions")
    found = [*(["dryRun"] if dry_run else []), *(each for each in others if given.get(each) is not None)]
    return [invalid(IGNORE_READ_ERRORS, True, f"cannot be set together with .{each}") for each in found]


def _delete_query(params: Params) -> dict[str, Any]:
    out: dict[str, Any] = {}
    if (grace_s := integer(params, "gracePeriodSeconds")) is not None:
        out["gracePeriodSeconds"] = grace_s
    if policy := text(params, "propagationPolicy"):
        out["propagationPolicy"] = policy
    if "orphanDependents" in params:
        out["orphanDependents"] = flag(params, "orphanDependents")
    if IGNORE_READ_ERRORS in params:
        out[IGNORE_READ_ERRORS] = flag(params, IGNORE_READ_ERRORS)
    if "dryRun" in params:
        out["dryRun"] = params["dryRun"]
    return out
