"""Current flow schemas and priority levels: a change applies from the first request after it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, Generic, TypeVar

from twisted.logger import Logger

from orchtw.authz.live_roles import Large
from orchtw.flowcontrol.classifier import Classifier
from orchtw.flowcontrol.levels import KnownFlow, Level, LevelSettings, limits
from orchtw.flowcontrol.matching import Schema
from orchtw.flowcontrol.stats import Stats
from orchtw.naming.naming import Naming
from orchtw.registry.groups.flowcontrol.mandatory import FLOW_SCHEMAS, PRIORITY_LEVELS
from orchtw.registry.offload import Compute
from orchtw.registry.stored import Stored
from orchtw.registry.targets import Targets
from orchtw.request import RequestInfo, UserInfo
from orchtw.watch.entry import Entry
from orchtw.watch.event_log import Event
from orchtw.wire.objects import Object

T = TypeVar("T")

GROUP: Final = "flowcontrol.apiserver.orch.io"
VERSION: Final = "v1beta2"
SCHEMAS: Final = "flowschemas"
LEVELS: Final = "prioritylevelconfigurations"


class Live:
    """Schemas, levels and their state. The mandatory ones exist before, and without, their objects (FLOW-7).

    `total` is the number of seats of all levels; `run` decodes large objects in a thread, None: at once.
    """

    def __init__(self, targets: Targets, naming: Naming, total: int, run: Compute | None = None) -> None:
        self._targets = targets
        self._naming = naming
        self._total = total
        self._run = run
        self._schemas: _Objects[Schema] | None = None
        self._settings: _Objects[LevelSettings] | None = None
        self._listeners: tuple[Callable[[], None], ...] = ()
        self._classifier: Classifier | None = None
        self.levels: dict[str, Level] = {}
        self.stats: dict[tuple[str, str], Stats] = {}

    def listen(self, changed: Callable[[], None]) -> None:
        """Call `changed`, which must not raise, whenever an object changes."""
        self._listeners = (*self._listeners, changed)

    def follow(self) -> None:
        """Read the present objects, then follow changes; called once the caches are filled."""
        group = self._naming.group(GROUP)
        schemas, levels = (
            self._targets.stored_target(group, VERSION, plural).stored for plural in (SCHEMAS, LEVELS)
        )
        self._schemas = _Objects(schemas, Schema.of, self._changed, self._run)
        self._settings = _Objects(levels, LevelSettings.of, self._changed, self._run)

    def flow(self, user: UserInfo, info: RequestInfo) -> KnownFlow:
        """Return the flow that a request belongs to."""
        return (self._classifier or self._renewed()).flow(user, info)

    @property
    def state(self) -> Classifier | None:
        """The state that flows are found by: another object after each change."""
        return self._classifier

    def settled(self) -> None:
        """Apply pending changes, without waiting for a request."""
        if self._classifier is None:
            self._renewed()

    async def in_force(self) -> None:
        """Return when the objects that the caches have decide on flows, large ones too."""
        for each in (self._schemas, self._settings):
            if each is not None:
                await each.large.done()

    def objects(self) -> Sequence[Schema]:
        """Return the schemas that have objects."""
        return () if self._schemas is None else tuple(self._schemas.known.values())

    def has_level(self, name: str) -> bool:
        """Report whether a level of that name exists."""
        self.settled()
        return name in self.levels and not self.levels[name].gone

    def retire(self) -> None:
        """Drop levels that are gone and no longer serve requests."""
        for name in [name for name, level in self.levels.items() if level.gone and level.idle]:
            del self.levels[name]

    def _changed(self) -> None:
        self._classifier = None
        for changed in self._listeners:
            changed()

    def _renewed(self) -> Classifier:
        schemas = {name: Schema.of(_mandatory(name, spec)) for name, spec in FLOW_SCHEMAS.items()}
        settings = {name: LevelSettings.of(_mandatory(name, spec)) for name, spec in PRIORITY_LEVELS.items()}
        if self._schemas is not None and self._settings is not None:
            schemas |= self._schemas.known
            settings |= self._settings.known
        shared = limits(settings.values(), self._total)
        for name, level in self.levels.items():
            level.gone = name not in settings
        for name, each in settings.items():
            known = self.levels.get(name)
            if known is None:
                self.levels[name] = Level(each, shared.get(name, 0))
            else:
                known.configure(each, shared.get(name, 0))
        self.retire()
        self._keep_stats(each for each in schemas.values() if each.level in settings)
        served = {name: level for name, level in self.levels.items() if not level.gone}
        self._classifier = Classifier(schemas.values(), served, self.stats, self._naming)
        return self._classifier

    def _keep_stats(self, schemas: Iterable[Schema]) -> None:
        """Drop the statistics of removed schemas, once their last request has been answered."""
        named = {(schema.level, schema.name) for schema in schemas}
        for key, stats in list(self.stats.items()):
            if key not in named and not (stats.executing or stats.waiting):
                del self.stats[key]
        for key in named:
            if key not in self.stats:
                self.stats[key] = Stats()


def _mandatory(name: str, spec: Object) -> dict[str, Any]:
    return {"metadata": {"name": name}, "spec": spec}


class _Objects(Generic[T]):
    """Decoded objects of one kind; unreadable ones are logged and ignored."""

    _log = Logger()

    def __init__(
        self, stored: Stored, read: Callable[[dict[str, Any]], T], changed: Callable[[], None], run: Compute | None
    ) -> None:
        self.known: dict[str, T] = {}
        self._stored = stored
        self._read = read
        self._tell = changed
        self.large = Large(run)
        stored.cache.follow(self)
        for entry in stored.cache.snapshot():
            self._put(entry)
        changed()

    def take(self, event: Event) -> None:
        """Apply a change of an object, as `Follower.take`."""
        if event.new is not None:
            self._put(event.new)
        elif event.old is not None:
            self.large.forget(("", "", event.old.name))
            self.known.pop(event.old.name, None)
        self._tell()

    def closed(self) -> None:
        """Do nothing: the kinds belong to the release and do not go away."""

    def _put(self, entry: Entry) -> None:
        """Decode an object; for a large one the previous state counts until that is done."""
        key = "", "", entry.name
        self.large.forget(key)
        if self.large.concerns(entry):
            self.large.read(key, entry, lambda: self._made(entry), lambda made: self._keep(entry.name, made))
            return
        try:
            self.known[entry.name] = self._made(entry)
        except Exception:  # noqa: BLE001 - logged; the other followers of the cache must not miss the event
            self._log.failure("{name} cannot be read", name=entry.key)
            self.known.pop(entry.name, None)

    def _made(self, entry: Entry) -> T:
        return self._read(self._stored.load(entry))

    def _keep(self, name: str, made: T) -> None:
        self.known[name] = made
        self._tell()
