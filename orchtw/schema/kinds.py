"""Keys of tables about kinds."""

from __future__ import annotations

import attrs

from orchtw.naming.names import Naming


@attrs.frozen(slots=True)
class GroupKind:
    """A kind of an API group; the group is in neutral spelling, and "" is the core group.

    Equal names in different groups are different kinds: a `Job` of `batch.volcano.sh` is no `Job` of `batch`.
    """

    group: str
    kind: str

    @classmethod
    def of(cls, group: str, kind: str, naming: Naming) -> GroupKind:
        """The kind whose group is spelled `group` in `naming`.

        A custom resource's author may have given the group a name that one of ours has in the neutral spelling
        only (`node.orch.io`, where ours is `node.k8s.io`): it is then known by the name that ours has there.
        """
        neutral = naming.neutral(group)
        served = naming.group(neutral)
        return cls(neutral if served == group else served, kind)
