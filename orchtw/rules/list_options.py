"""Options of a list, watch or deletecollection: selection and version (reference READ-4)."""

from __future__ import annotations

from typing import Final, Literal

import msgspec

from orchtw.errors import BadRequest
from orchtw.naming.naming import Naming
from orchtw.rules import continue_token
from orchtw.rules.options import Params, integer, raise_invalid, text
from orchtw.rules.request_info import flag
from orchtw.rules.resource_version import revision_of
from orchtw.rules.resource_version_match import EXACT, WatchList, match_causes
from orchtw.rules.selectors import (
    ALL_FIELDS,
    ALL_LABELS,
    FieldSelector,
    LabelSelector,
    parse_fields,
    parse_labels,
)
from orchtw.rules.shard_selectors import ShardSelector

Consistency = Literal["latest", "any", "not older", "exact", "continue"]


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
    position: continue_token.Position | None = None
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


_PLAIN_LIST: Final = ListOptions()


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
    given = text(params, "continue")
    token = "" if watch else given
    version, match = text(params, "resourceVersion"), text(params, "resourceVersionMatch")
    limit = max(0, integer(params, "limit") or 0)
    timeout_s = integer(params, "timeoutSeconds")
    labels = parse_labels(text(params, "labelSelector"))
    fields = parse_fields(text(params, "fieldSelector"), selectable, custom=custom)
    initial = _initial_events(params, watch_list)
    if match or initial is not None:
        raise_invalid("ListOptions", match_causes(version, match, given, watch, initial, watch_list), naming)
    revision = revision_of(version, bool(limit))
    if token and revision:
        raise BadRequest("specifying resource version is not allowed when using continue")
    consistency = "continue" if token else _consistency(revision, match, bool(limit))
    return ListOptions(
        labels=labels,
        fields=fields,
        limit=0 if watch or consistency == "any" else limit,
        position=continue_token.decode(token, naming) if token else None,
        revision=revision,
        consistency=consistency,
        timeout_s=timeout_s,
        bookmarks=flag(params, "allowWatchBookmarks"),
        initial_events=initial,
        shards=_shards(params) if sharded else None,
    )


def _shards(params: Params) -> ShardSelector | None:
    """Return the parsed shardSelector; an empty one counts as none (reference READ-29)."""
    given = text(params, "shardSelector")
    if not given:
        return None
    from orchtw.rules.shard_parser import parse_shards  # noqa: PLC0415 - the language is rarely used

    return parse_shards(given)


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
