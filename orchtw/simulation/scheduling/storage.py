"""Shared informers of claims, volumes and classes, as far as these are served (reference SIM-66)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from orchtw.client.interface import Item
from orchtw.simulation.informers import SharedInformer
from orchtw.simulation.scheduling.volumes import VolumeSources
from orchtw.simulation.world import World
from orchtw.wire.objects import Object


class Storage:
    """The volumes of the cluster. `changed` is called with the key of a changed claim, or None for anything else."""

    def __init__(self, world: World, changed: Callable[[str | None], None], users: Callable[[str], int]) -> None:
        self.claims = _informer(world, "", "persistentvolumeclaims")
        self._volumes = _informer(world, "", "persistentvolumes")
        self._classes = _informer(world, "storage.orch.io", "storageclasses")
        self._of_class = None if self._volumes is None else self._volumes.index("class", _class)
        self._changed = changed
        self.sources = VolumeSources(
            _getter(self.claims), _getter(self._volumes), _getter(self._classes), self._volumes_of, users
        )
        if self.claims is not None:
            self.claims.handle(self._claim_seen)
        for informer in (self._volumes, self._classes):
            if informer is not None:
                informer.handle(lambda old, new: changed(None))

    @property
    def informers(self) -> Sequence[SharedInformer]:
        """Return the informers that there are."""
        return [each for each in (self._classes, self._volumes, self.claims) if each is not None]

    def _claim_seen(self, old: Item | None, new: Item | None) -> None:
        if (item := new or old) is not None:
            self._changed(item.key)

    def _volumes_of(self, name: str) -> Sequence[Object]:
        if self._volumes is None or self._of_class is None:
            return ()
        return list(self._volumes.of(self._of_class.keys(name)))


def _informer(world: World, group: str, plural: str) -> SharedInformer | None:
    try:
        return world.informer(group, plural)
    except KeyError:
        return None


def _getter(informer: SharedInformer | None) -> Callable[[str], Object | None]:
    return (lambda key: None) if informer is None else informer.get


def _class(volume: Object) -> Sequence[str]:
    return (volume["spec"].get("storageClassName") or "",)
