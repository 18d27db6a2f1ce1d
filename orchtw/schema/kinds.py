"""Group and kind, as the key of tables about kinds."""

from __future__ import annotations

import msgspec

from orchtw.naming.naming import Naming


class GroupKind(msgspec.Struct, frozen=True):
    """A kind of an API group; the group is in neutral spelling, and "" is the core group.

    Equal names in different groups are different kinds: a `Job` of `batch.volcano.sh` is not a `Job` of `batch`.
    """

    group: str
    kind: str

    @classmethod
    def of(cls, group: str, kind: str, naming: Naming) -> GroupKind:
        """Return the kind whose group is spelled `group` in `naming`.

        A custom resource's group may have a name that is only the neutral spelling of one of ours
        (`node.orch.io`, where ours is served as `node.k8s.io`): its key is then the served name of ours.
        """
        neutral = naming.neutral(group)
        served = naming.group(neutral)
        return cls(neutral if served == group else served, kind)
