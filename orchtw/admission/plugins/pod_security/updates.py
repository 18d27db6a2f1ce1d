"""Updates of pods that can change the outcome of a check (reference PLUG-36)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from orchtw.registry.groups.core.pod_annotations import AnnotationKeys, annotations_of
from orchtw.wire.objects import Object


def matters(new: Object, old: Object, keys: AnnotationKeys) -> bool:
    """Report whether images, containers or profiles differ: nothing else that controls check is mutable."""
    after, before = annotations_of(new), annotations_of(old)
    if after.get(keys.seccomp) != before.get(keys.seccomp):
        return True
    lists = ("containers", "initContainers")
    pairs = [(new["spec"].get(key) or (), old["spec"].get(key) or ()) for key in lists]
    if any(len(now) != len(then) for now, then in pairs):
        return True
    both = [pair for now, then in pairs for pair in zip(now, then, strict=True)]
    known = {each["name"]: each for each in old["spec"].get("ephemeralContainers") or ()}
    for container in new["spec"].get("ephemeralContainers") or ():
        if container["name"] not in known:
            return True
        both.append((container, known[container["name"]]))
    return any(now.get("image") != then.get("image") for now, then in both) or _other_profiles(
        [now["name"] for now, _ in both], after, before, keys.container_seccomp
    )


def _other_profiles(
    names: Sequence[str], after: Mapping[str, str], before: Mapping[str, str], prefix: str
) -> bool:
    return any(after.get(prefix + name) != before.get(prefix + name) for name in names)
