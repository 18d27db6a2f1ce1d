"""Listers of stored pods and nodes for the rules."""

from __future__ import annotations

from typing import Final

import msgspec

from orchtw.registry.listers.lister import StoredLister
from orchtw.registry.stored import Stored
from orchtw.registry.targets import Targets
from orchtw.watch.entry import Entry

NODE_NAME: Final = "spec.nodeName"


class PodRecord(msgspec.Struct, frozen=True):
    """Record of a pod: its uid, and the node that it runs on."""

    uid: str
    node: str


def pod_records(targets: Targets) -> StoredLister[PodRecord]:
    """Return a lister of the records of pods."""
    stored = targets.stored_target("", "v1", "pods").stored
    node = stored.field_names.index(NODE_NAME)
    return StoredLister(stored, lambda stored, entry: PodRecord(_uid(stored, entry), entry.fields[node]))


def node_uids(targets: Targets) -> StoredLister[str]:
    """Return a lister of the uids of nodes."""
    return StoredLister(targets.stored_target("", "v1", "nodes").stored, _uid)


def _uid(stored: Stored, entry: Entry) -> str:
    return str(stored.metadata(entry, owned=False).get("uid", ""))
