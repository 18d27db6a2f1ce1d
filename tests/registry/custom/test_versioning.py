"""Versions of a custom resource, converted by name or by a webhook (reference CRD-24, CRD-41)."""
# covers: orchtw.registry.custom.target

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TypeVar

import orjson
from twisted.internet.defer import ensureDeferred
from twisted.trial.unittest import SynchronousTestCase

from orchtw.registry.converting import Unconverted, run_converting
from orchtw.registry.custom.target import CustomTarget, WebhookTarget
from orchtw.registry.custom.versioning import ByWebhook, SameFields
from orchtw.registry.target import Target
from orchtw.registry.versioning import MakeVersioning, VersioningParts
from orchtw.schema.codec.codec import Codec
from orchtw.wire.objects import Object
from tests.registry.custom.definitions import GROUP, lamp
from tests.registry.custom.test_stored import stored, value

T = TypeVar("T")


class Renaming:
    """A converter in place of a webhook: it changes versions and puts the old one into the spec."""

    def __init__(self) -> None:
        self.asked: list[tuple[int, str]] = []

    async def convert(self, texts: Sequence[bytes], wanted: Codec) -> list[bytes]:
        self.asked.append((len(texts), wanted.api_version))
        return [self._converted(orjson.loads(text), wanted) for text in texts]

    def _converted(self, obj: Object, wanted: Codec) -> bytes:
        spec = {**obj["spec"], "new": f"from {obj['apiVersion'].rpartition('/')[2]}"}
        return orjson.dumps({**obj, "apiVersion": wanted.api_version, "spec": spec})


class Inline:
    """A worker for which no computation is long."""

    def inline(self, size_bytes: int) -> bool:
        return True

    async def run(self, size_bytes: int, work: Callable[[], T]) -> T:
        return work()


class VersioningCase(SynchronousTestCase):
    """Lamps that lie in the store as v2 and are served as v1 too."""

    def targets(self, make: MakeVersioning) -> tuple[Target, Target]:
        """Return the targets of v1 and v2."""
        home = stored(same=make is SameFields)
        versioning = make(home.codecs)
        self.home = versioning.stored(home.resource, home.codec, home.strategy, home.prefix)
        older, newer = (
            versioning.target(
                VersioningParts(
                    resource=home.resource,
                    codec=home.codecs[f"{GROUP}/{version}"],
                    stored=self.home,
                    strategy=home.strategy,
                    deprecation="",
                )
            )
            for version in ("v1", "v2")
        )
        return older, newer

    def await_(self, work: Awaitable[T]) -> T:
        """Return the result of work that waits for nothing outside the test."""
        return self.successResultOf(ensureDeferred(work))  # type: ignore[arg-type]


class SameFieldsTests(VersioningCase):
    """Strategy None: versions that differ in their schemas."""

    def test_pruned(self) -> None:
        """An object loses the fields that its new version does not have, and keeps the common ones."""
        older, newer = self.targets(SameFields)
        assert isinstance(older, CustomTarget)
        entry = self.home.build("n/a", value("v2", new="x", size=2), 7)
        self.assertEqual(older.load(entry)["spec"], {"size": 2})
        self.assertEqual(newer.load(entry)["spec"], {"new": "x", "size": 2})
        kept = older.store_form(lamp(version="v1", spec={"old": "x", "size": 1}))
        self.assertEqual((kept["apiVersion"], kept["spec"]), (f"{GROUP}/v2", {"size": 1}))

    def test_no_call(self) -> None:
        """No form takes a call, and a draft is in the version of the request."""
        older, _ = self.targets(SameFields)
        draft = lamp(version="v1", spec={"old": "x"})
        self.assertIsNone(older.forms)
        self.assertIs(older.draft(draft), draft)


class ByWebhookTests(VersioningCase):
    """Strategy Webhook, with a converter that says what it is asked for."""

    def setUp(self) -> None:
        self.converter = Renaming()
        older, newer = self.targets(partial(ByWebhook, converter=self.converter))
        assert isinstance(older, WebhookTarget) and isinstance(newer, WebhookTarget)
        self.older, self.newer = older, newer
        self.entry = self.home.build("n/a", value("v1", old="x"), 7)

    def test_own_version(self) -> None:
        """An object that lies in the store in the wanted version takes no call."""
        self.assertTrue(self.older.has_json(self.entry))
        self.assertEqual(self.older.load(self.entry)["spec"], {"old": "x", "size": 1})
        self.assertEqual(self.converter.asked, [])

    def test_other_version(self) -> None:
        """Another version is made by one call and stays with the entry; before that, reading raises Unconverted."""
        self.assertFalse(self.newer.has_json(self.entry))
        self.assertRaises(Unconverted, self.newer.load, self.entry)
        self.await_(self.newer.make([self.entry]))
        self.assertEqual(self.newer.load(self.entry)["spec"]["new"], "from v1")
        self.assertEqual(self.newer.load(self.entry)["apiVersion"], f"{GROUP}/v2")
        self.assertEqual(self.converter.asked, [(1, f"{GROUP}/v2")])

    def test_listed(self) -> None:
        """A list never takes the version that an object lies in for the one that new objects are stored in."""
        for listed in (self.newer.listed_json, self.newer.listed_size):
            self.entry.json = None
            self.assertRaises(Unconverted, listed, self.entry)
        self.assertRaises(Unconverted, self.newer.listed_head, self.entry, 9)
        self.await_(self.newer.make([self.entry]))
        tail = self.newer.json_tail(self.entry)
        self.assertEqual((self.newer.listed_json(self.entry), self.newer.listed_size(self.entry)), (tail, len(tail)))
        self.assertEqual(self.newer.listed_head(self.entry, 9), tail[:9])

    def test_computation(self) -> None:
        """A computation that needs another version is begun anew after the call, and finds the form then."""
        sent = lamp(version="v1", spec={"old": "x"})
        found = self.await_(run_converting(Inline(), 1, lambda: self.older.store_form(dict(sent))))
        self.assertEqual((found["apiVersion"], found["spec"]["new"]), (f"{GROUP}/v2", "from v1"))
        self.assertEqual(self.converter.asked, [(1, f"{GROUP}/v2")])
        stored_form = lamp(version="v2", spec={"new": "y"})
        self.assertIs(self.older.store_form(stored_form), stored_form)

    def test_writer(self) -> None:
        """A writer is answered with what it has sent and the new resourceVersion, without a call."""
        entry = self.home.build("n/a", value("v2", new="y"), 9)
        draft: Object = orjson.loads(value("v1", old="sent"))
        answered = self.older.load(self.older.as_written(entry, self.older.for_writer(draft)))
        self.assertEqual((answered["spec"], answered["metadata"]["resourceVersion"]), ({"old": "sent"}, "9"))
        self.assertFalse(self.older.has_json(entry))
        self.assertEqual(self.converter.asked, [])
