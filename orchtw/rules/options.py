"""Options in query parameters and in the body of a delete, parsed and validated (reference REQ-17, READ-4, DEL-1).

Unknown parameters are ignored. A malformed value raises BadRequest (400); a forbidden value or combination raises
Invalid (422) with a cause for each broken rule.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any, Final, Literal

import msgspec

from orchtw.errors import BadRequest, Cause, Invalid
from orchtw.naming.naming import Naming
from orchtw.rules import paging
from orchtw.rules.request_info import flag
from orchtw.rules.selectors import (
    ALL_FIELDS,
    ALL_LABELS,
    FieldSelector,
    LabelSelector,
    parse_fields,
    parse_labels,
)
from orchtw.rules.shard_selectors import ShardSelector
from orchtw.values.causes import (
    forbidden,
    go_quote,
    invalid,
    not_supported,
    required,
)
from orchtw.values.field_managers import field_manager_causes
from orchtw.values.times import parse_duration

Params = Mapping[str, list[str]]
Consistency = Literal["latest", "any", "not older", "exact", "continue"]
IncludeObject = Literal["Metadata", "Object", "None"]
Propagation = Literal["Orphan", "Background", "Foreground"]

EXACT: Final = "Exact"
NOT_OLDER_THAN: Final = "NotOlderThan"
IGNORE_READ_ERRORS: Final = "ignoreStoreReadErrorWithClusterBreakingPotential"
"""Option to delete an object that cannot be read (reference DEL-21)."""

_POLICIES: Final = ("Foreground", "Background", "Orphan")
_VALIDATIONS: Final = ("", "Ignore", "Strict", "Warn")
_INCLUDED: Final[dict[str, IncludeObject]] = {
    "": "Metadata",
    "Metadata": "Metadata",
    "Object": "Object",
    "None": "None",
}
_UINT64: Final = 1 << 64
_INT64: Final = 1 << 63


class WatchList(Enum):
    """Treatment of `sendInitialEvents` by the emulated release."""

    UNKNOWN = "unknown"
    """The emulated release ignores the parameter."""
    OFF = "off"
    """The feature gate is off: it is refused."""
    ON = "on"


class ListOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Options of a list, watch or deletecollection: selection and resourceVersion.

    `limit` 0 means no limit, also where a limit has no effect (watches, version "0"). `revision` is the requested
    resourceVersion, None if unset. `consistency` names the semantics of reference READ-4; for `continue`, `position`
    is where the list continues. `timeout_s` is the client's timeoutSeconds, None if unset. `initial_events` says if a
    watch begins with the state, None if unset.
    """

    labels: LabelSelector = ALL_LABELS
    fields: FieldSelector = ALL_FIELDS
    limit: int = 0
    position: paging.Position | None = None
    revision: int | None = None
    consistency: Consistency = "latest"
    timeout_s: int | None = None
    bookmarks: bool = False
    initial_events: bool | None = None
    shards: ShardSelector | None = None

    @property
    def selective(self) -> bool:
        """Report whether a selector may leave objects out."""
        return not (self.labels.empty and self.fields.empty and self.shards is None)


class WriteOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Options of a create, update or patch. `field_manager` is empty if unset; `force` is for apply only."""

    dry_run: bool = False
    field_manager: str = ""
    field_validation: str = ""
    force: bool = False


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


_PLAIN_LIST: Final = ListOptions()
_PLAIN_WRITE: Final = WriteOptions()


def list_options(
    params: Params,
    selectable: tuple[str, ...],
    naming: Naming,
    *,
    watch: bool = False,
    custom: bool = False,
    watch_list: WatchList = WatchList.UNKNOWN,
    sharded: bool = False,
) -> ListOptions:
    """Return the options of a list, watch or deletecollection; `selectable` and `custom` are as in `parse_fields`.

    `watch_list`: what the emulated release makes of sendInitialEvents. `sharded`: shardSelector is known.

    Raises BadRequest (400) and Invalid (422), by the table of reference READ-6.
    """
    if not params:
        return _PLAIN_LIST
    given = _text(params, "continue")
    token = "" if watch else given
    version, match = _text(params, "resourceVersion"), _text(params, "resourceVersionMatch")
    limit = max(0, _integer(params, "limit") or 0)
    timeout_s = _integer(params, "timeoutSeconds")
    labels = parse_labels(_text(params, "labelSelector"))
    fields = parse_fields(_text(params, "fieldSelector"), selectable, custom=custom)
    initial = _initial_events(params, watch_list)
    if match or initial is not None:
        _raise("ListOptions", _match_causes(version, match, given, watch, initial, watch_list), naming)
    revision = _revision(version, bool(limit))
    if token and revision:
        raise BadRequest("specifying resource version is not allowed when using continue")
    consistency = "continue" if token else _consistency(revision, match, bool(limit))
    return ListOptions(
        labels=labels,
        fields=fields,
        limit=0 if watch or consistency == "any" else limit,
        position=paging.decode(token, naming) if token else None,
        revision=revision,
        consistency=consistency,
        timeout_s=timeout_s,
        bookmarks=flag(params, "allowWatchBookmarks"),
        initial_events=initial,
        shards=_shards(params) if sharded else None,
    )


def _shards(params: Params) -> ShardSelector | None:
    """Return the parsed shardSelector; an empty one counts as none (reference READ-29)."""
    text = _text(params, "shardSelector")
    if not text:
        return None
    from orchtw.rules.shard_parser import parse_shards  # noqa: PLC0415 - the language is rarely used

    return parse_shards(text)


def _initial_events(params: Params, watch_list: WatchList) -> bool | None:
    known = watch_list is not WatchList.UNKNOWN and params.get("sendInitialEvents")
    return flag(params, "sendInitialEvents") if known else None


def _consistency(revision: int | None, match: str, limited: bool) -> Consistency:
    if revision is None:
        return "latest"
    if revision == 0:
        return "any"
    if match == EXACT or (limited and not match):
        return "exact"
    return "not older"


def _match_causes(
    version: str, match: str, token: str, watch: bool, initial: bool | None, watch_list: WatchList
) -> list[Cause]:
    """Return the broken rules about resourceVersionMatch and sendInitialEvents (reference READ-6, WATCH-21)."""
    if watch and watch_list is not WatchList.UNKNOWN:
        return _watch_causes(match, token, initial, watch_list)
    causes = _list_causes(version, match, token, watch) if match else []
    if initial is not None:
        causes.append(forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list"))
    return causes


def _watch_causes(match: str, token: str, initial: bool | None, watch_list: WatchList) -> list[Cause]:
    field, events = "resourceVersionMatch", "sendInitialEvents"
    causes = []
    if initial is not None:
        if match != NOT_OLDER_THAN:
            causes.append(forbidden(field, f"{events} requires setting {field} to {NOT_OLDER_THAN}"))
        if watch_list is WatchList.OFF:
            why = "is forbidden for watch unless the WatchList feature gate is enabled"
            causes.append(forbidden(events, f"{events} {why}"))
    if match:
        if initial is None:
            causes.append(forbidden(field, f"{field} is forbidden for watch unless {events} is provided"))
        if match != NOT_OLDER_THAN:
            causes.append(not_supported(field, match, (NOT_OLDER_THAN,)))
        if token:
            causes.append(forbidden(field, f"{field} is forbidden when continue is provided"))
    return causes


def _list_causes(version: str, match: str, token: str, watch: bool) -> list[Cause]:
    field = "resourceVersionMatch"
    causes = []
    if watch:
        causes.append(forbidden(field, f"{field} is forbidden for watch"))
    if not version:
        causes.append(forbidden(field, f"{field} is forbidden unless resourceVersion is provided"))
    if token:
        causes.append(forbidden(field, f"{field} is forbidden when continue is provided"))
    if match not in (EXACT, NOT_OLDER_THAN):
        causes.append(not_supported(field, match, (EXACT, NOT_OLDER_THAN, "")))
    if match == EXACT and version == "0":
        causes.append(forbidden(field, f'{field} "exact" is forbidden for resourceVersion "0"'))
    return causes


def get_revision(params: Params) -> int | None:
    """Return the resourceVersion of a get: None is latest, 0 any, else not older. Raises BadRequest (400)."""
    return _revision(_text(params, "resourceVersion"), limited=False) if params else None


def parse_revision(text: str) -> int:
    """Parse a resourceVersion. Raises ValueError, in the API's words, unless it is an unsigned 64-bit decimal."""
    if not (text.isascii() and text.isdigit()):
        raise ValueError(f"strconv.ParseUint: parsing {go_quote(text)}: invalid syntax")
    if len(text) > 20 or (number := int(text)) >= _UINT64:
        raise ValueError(f"strconv.ParseUint: parsing {go_quote(text)}: value out of range")
    return number


def _revision(text: str, limited: bool) -> int | None:
    if not text:
        return None
    try:
        return parse_revision(text)
    except ValueError as exc:
        why = f"resourceVersion: Invalid value: {go_quote(text)}: {exc}"
        raise BadRequest(f"invalid resource version: {why}" if limited else why) from exc


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
    if apply and not _text(params, "fieldManager"):
        causes.append(required("fieldManager", "is required for apply patch"))
    return _write_options("PatchOptions", params, naming, causes)


def _write_options(kind: str, params: Params, naming: Naming, causes: list[Cause] | None = None) -> WriteOptions:
    causes = causes or []
    if not params and not causes:
        return _PLAIN_WRITE
    manager, validation = _text(params, "fieldManager"), _text(params, "fieldValidation")
    causes += field_manager_causes(manager, "fieldManager")
    dry_run = _dry_run(params.get("dryRun", []), causes)
    if validation not in _VALIDATIONS:
        causes.append(not_supported("fieldValidation", validation, _VALIDATIONS))
    _raise(kind, causes, naming)
    return WriteOptions(
        dry_run=dry_run, field_manager=manager, field_validation=validation, force=flag(params, "force")
    )


def _dry_run(values: list[str], causes: list[Cause]) -> bool:
    """Report whether a dry run is requested; empty values do not count (reference WRITE-20)."""
    given = [value for value in values if value]
    if any(value != "All" for value in given):
        causes.append(not_supported("dryRun", given, ("All",)))
    return bool(given)


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
        text = "orphanDependents and deletionPropagation cannot be both set"
        causes.append(invalid("propagationPolicy", policy, text))
    if policy is not None and policy not in _POLICIES:
        causes.append(not_supported("propagationPolicy", policy, (*_POLICIES, "nil")))
    dry_run = _dry_run(given.get("dryRun") or params.get("dryRun", []), causes)
    ignores = unsafe and bool(given.get(IGNORE_READ_ERRORS))
    if ignores:
        causes += _unsafe_causes(given, dry_run)
    _raise("DeleteOptions", causes, naming)
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


_PLAIN_DELETE: Final = DeleteOptions()


def _unsafe_causes(given: Mapping[str, Any], dry_run: bool) -> list[Cause]:
    """Return the causes for options that exclude the one to ignore read errors."""
    others = ("propagationPolicy", "orphanDependents", "gracePeriodSeconds", "preconditions")
    found = [*(["dryRun"] if dry_run else []), *(each for each in others if given.get(each) is not None)]
    return [invalid(IGNORE_READ_ERRORS, True, f"cannot be set together with .{each}") for each in found]


def _delete_query(params: Params) -> dict[str, Any]:
    out: dict[str, Any] = {}
    if (grace_s := _integer(params, "gracePeriodSeconds")) is not None:
        out["gracePeriodSeconds"] = grace_s
    if policy := _text(params, "propagationPolicy"):
        out["propagationPolicy"] = policy
    if "orphanDependents" in params:
        out["orphanDependents"] = flag(params, "orphanDependents")
    if IGNORE_READ_ERRORS in params:
        out[IGNORE_READ_ERRORS] = flag(params, IGNORE_READ_ERRORS)
    if "dryRun" in params:
        out["dryRun"] = params["dryRun"]
    return out


def include_object(params: Params) -> IncludeObject:
    """Return the part of its object that each Table row includes. Raises BadRequest (400) (reference TABLE-4)."""
    value = _text(params, "includeObject")
    found = _INCLUDED.get(value)
    if found is not None:
        return found
    why = f"includeObject: Invalid value: {go_quote(value)}: must be 'Metadata', 'Object', 'None', or empty"
    raise BadRequest(f"Unable to convert to Table as requested: {why}")


def request_timeout_s(params: Params) -> float | None:
    """Return the `timeout` parameter in seconds (`32s` is 32.0), None if unset or not positive (reference REQ-18).

    Raises BadRequest (400) if it is not a duration.
    """
    text = _text(params, "timeout")
    if not text:
        return None
    try:
        nanoseconds = parse_duration(text)
    except ValueError:
        raise BadRequest("invalid timeout specified in the request URL") from None
    return nanoseconds / 1e9 if nanoseconds > 0 else None


def _text(params: Params, name: str) -> str:
    values = params.get(name)
    return values[0] if values else ""


def _integer(params: Params, name: str) -> int | None:
    values = params.get(name)
    if not values:
        return None
    text = values[0]
    digits = text[1:] if text[:1] in ("+", "-") else text
    if not (digits.isascii() and digits.isdigit()):
        raise BadRequest(f"strconv.ParseInt: parsing {go_quote(text)}: invalid syntax")
    if len(digits) > 20 or not -_INT64 <= (number := int(text)) < _INT64:
        raise BadRequest(f"strconv.ParseInt: parsing {go_quote(text)}: value out of range")
    return number


def _raise(kind: str, causes: list[Cause], naming: Naming) -> None:
    if causes:
        raise Invalid.of(kind, naming.meta_group, "", causes)
