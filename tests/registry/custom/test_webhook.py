"""Calls of a conversion webhook: how many, with what, and what is made of the answers (reference CRD-42)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson
from twisted.internet.defer import Deferred, ensureDeferred
from twisted.trial.unittest import SynchronousTestCase

from orchtw.naming.naming import Naming
from orchtw.registry.custom import webhook
from orchtw.registry.custom.review import ConversionFailed
from orchtw.registry.custom.webhook import CallLost, WebhookConverter
from orchtw.schema.catalogue import Catalogue
from orchtw.schema.codec.codecs import Codecs
from orchtw.wire.objects import Object
from tests.registry.widgets import GROUP, schema_of, widget

V1, V2 = f"{GROUP}/v1", f"{GROUP}/v2"
SUBJECT = f"conversion webhook for {V1}, Kind=Widget "


def obj(number: int, **spec: Any) -> bytes:
    meta = {"name": f"w{number}", "namespace": "n", "uid": str(number)}
    return orjson.dumps({"kind": "Widget", "apiVersion": V1, "metadata": meta, "spec": {"colour": "red", **spec}})


def answer(body: bytes) -> bytes:
    """Return a good webhook's response: only the version changes."""
    review = orjson.loads(body)
    request = review["request"]
    objects = [{**each, "apiVersion": request["desiredAPIVersion"]} for each in request["objects"]]
    response = {"uid": request["uid"], "convertedObjects": objects, "result": {"status": "Success"}}
    return orjson.dumps({**review, "response": response})


class ConverterTests(SynchronousTestCase):
    """A converter whose calls are answered one by one."""

    def setUp(self) -> None:
        codecs = Codecs(Catalogue.load(Naming.orch()))
        resource = widget("v2")
        self.wanted = codecs.made(resource, schema_of(resource, codecs.schemas))
        self.calls: list[tuple[bytes, Deferred[bytes]]] = []
        self.numbers = iter(range(1000))
        self.converter = self.make("v1")

    def make(self, *reviews: str) -> WebhookConverter:
        async def run(size_bytes: int, work: Any) -> Any:
            return work()

        return WebhookConverter(self.call, reviews, run, lambda: f"id{next(self.numbers)}", Naming.orch())

    def call(self, body: bytes) -> Deferred[bytes]:
        waiting: Deferred[bytes] = Deferred()
        self.calls.append((body, waiting))
        return waiting

    def convert(self, texts: Sequence[bytes]) -> Deferred[list[bytes]]:
        return ensureDeferred(self.converter.convert(texts, self.wanted))

    def answer_all(self) -> int:
        """Answer until nobody asks any more; returns how many questions there were."""
        for body, waiting in self.calls:
            waiting.callback(answer(body))
        return len(self.calls)

    def sent(self, number: int) -> Object:
        review: Object = orjson.loads(self.calls[number][0])
        return review

    def test_review_version(self) -> None:
        """The first version of reviews that is known here is spoken."""
        for reviews, spoken in ((("v7", "v1beta1", "v1"), "v1beta1"), (("v1", "v1beta1"), "v1")):
            self.converter = self.make(*reviews)
            self.convert([obj(1)])
            self.assertEqual(self.sent(-1)["apiVersion"], f"apiextensions.orch.io/{spoken}")
        self.converter = self.make("v7")
        error = self.failureResultOf(self.convert([obj(1)]), ConversionFailed).value
        self.assertEqual(error.message, "no supported conversion review versions")

    def test_pruned(self) -> None:
        """Converted objects are pruned by the schema of their version, without its defaults (reference CRD-41)."""
        converting = self.convert([obj(1, unknown=1)])
        self.answer_all()
        (text,) = self.successResultOf(converting)
        self.assertEqual(orjson.loads(text)["spec"], {"colour": "red"})
        self.assertTrue(text.startswith(self.wanted.type_prefix))

    def test_batches(self) -> None:
        """Many objects go in few calls, a bounded number of objects and bytes in each, and come in order."""
        self.patch(webhook, "BATCH_OBJECTS", 3)
        self.patch(webhook, "BATCHES_AT_A_TIME", 2)
        texts = [obj(number) for number in range(8)]
        converting = self.convert(texts)
        self.assertEqual(len(self.calls), 2)
        self.assertEqual(self.answer_all(), 3)
        found = self.successResultOf(converting)
        self.assertEqual([orjson.loads(text)["metadata"]["uid"] for text in found], list("01234567"))
        self.assertEqual([len(self.sent(number)["request"]["objects"]) for number in range(3)], [3, 3, 2])
        self.assertEqual(len({self.sent(number)["request"]["uid"] for number in range(3)}), 3)

    def test_large_objects(self) -> None:
        """Objects that are large go alone."""
        self.patch(webhook, "BATCH_BYTES", 300)
        self.convert([obj(1), obj(2, colour="x" * 400), obj(3)])
        self.answer_all()
        self.assertEqual([len(self.sent(number)["request"]["objects"]) for number in range(3)], [1, 1, 1])

    def test_first_failure(self) -> None:
        """One call that fails is the end of all, and those that run are given up."""
        self.patch(webhook, "BATCH_OBJECTS", 1)
        converting = self.convert([obj(number) for number in range(9)])
        self.calls[1][1].errback(CallLost("gone"))
        error = self.failureResultOf(converting, ConversionFailed).value
        self.assertEqual(error.message, f"{SUBJECT}failed: gone")
        self.assertTrue(self.calls[0][1].called)
        self.assertLess(len(self.calls), 9)

    def test_room(self) -> None:
        """A bounded number of calls is made at a time."""
        several = [self.convert([obj(number)]) for number in range(40)]
        self.assertEqual(len(self.calls), webhook.CALLS_AT_A_TIME)
        self.answer_all()
        for each in several:
            self.successResultOf(each)

    def test_too_deep(self) -> None:
        """An object that nests deeper than can be looked at is refused."""

        def deep(value: object) -> Object:
            raise RecursionError

        self.patch(self.wanted, "pruned", deep)
        converting = self.convert([obj(1)])
        self.answer_all()
        error = self.failureResultOf(converting, ConversionFailed).value
        self.assertEqual(error.message, f"{SUBJECT}failed: nested too deeply")
