"""What becomes of the containers of a pod that is there, and what only real pods ask of them (reference KIND-42)."""

from __future__ import annotations

from orchtw.errors import MAX_CAUSES, Cause
from orchtw.objects import Object
from orchtw.registry.groups.core.containers import UNTRIMMED
from orchtw.rules.causes import forbidden, go_quote, invalid

_LISTS = ("containers", "initContainers")


def image_causes(spec: Object) -> list[Cause]:
    """Images that cannot be pulled because of space around them; templates may have them."""
    causes: list[Cause] = []
    for key in _LISTS:
        for index, container in enumerate(spec.get(key) or ()):
            image = container.get("image") or ""
            if image.strip() != image:
                causes.append(invalid(f"spec.{key}[{index}].image", image, UNTRIMMED))
                if len(causes) > MAX_CAUSES:
                    return causes
    return causes


def count_causes(new: Object, old: Object) -> list[Cause]:
    """A pod has as many containers as it was made with; where it does not, they are not compared one by one."""
    for key in _LISTS:
        if len(new.get(key) or ()) != len(old.get(key) or ()):
            return [forbidden(f"spec.{key}", "pod updates may not add or remove containers")]
    return []


def ephemeral_causes(new: Object, old: Object) -> list[Cause]:
    """Ephemeral containers come and stay as they are."""
    place = "spec.ephemeralContainers"
    now = {container.get("name"): container for container in new.get("ephemeralContainers") or ()}
    causes: list[Cause] = []
    for container in old.get("ephemeralContainers") or ():
        name = container.get("name", "")
        if len(causes) > MAX_CAUSES:
            break
        if name not in now:
            causes.append(forbidden(place, f"existing ephemeral containers {go_quote(name)} may not be removed"))
        elif now[name] != container:
            causes.append(forbidden(place, f"existing ephemeral containers {go_quote(name)} may not be changed"))
    return causes
