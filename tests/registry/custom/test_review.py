"""ConversionReviews, and every reason to reject a response."""

from __future__ import annotations

from typing import Any

import orjson
from twisted.trial.unittest import SynchronousTestCase

from orchtw.naming.naming import Naming
from orchtw.registry.custom.review import ConversionFailed, Review
from orchtw.wire.objects import Object

V1, V2 = "ex.io/v1", "ex.io/v2"
SUBJECT = "conversion webhook for ex.io/v1, Kind=Foo "
REVIEW = "apiextensions.orch.io/v1"


def foo(name: str = "a", version: str = V1, **meta: Any) -> Object:
    return {
        "kind": "Foo",
        "apiVersion": version,
        "metadata": {"name": name, "namespace": "n", "uid": f"u-{name}", "generation": 2, **meta},
        "spec": {"x": 1},
    }


def review(*objects: Object, version: str = "v1", naming: Naming | None = None) -> Review:
    texts = [orjson.dumps(obj) for obj in objects or (foo(),)]
    naming = naming or Naming.orch()
    return Review(version=version, uid="id", desired=V2, kind="Foo", objects=texts, naming=naming)


def answer(*objects: Any, **response: Any) -> Object:
    found = {"uid": "id", "convertedObjects": list(objects), "result": {"status": "Success"}, **response}
    return {"kind": "ConversionReview", "apiVersion": REVIEW, "response": found}


class QuestionTests(SynchronousTestCase):
    def test_body(self) -> None:
        """A review has the objects as they are, in the version that the webhook knows (reference CRD-42)."""
        request = {"uid": "id", "desiredAPIVersion": V2, "objects": [foo(), foo("b")]}
        for version, naming, group in (
            ("v1", Naming.orch(), "apiextensions.orch.io"),
            ("v1beta1", Naming.of("kubernetes"), "apiextensions.k8s.io"),
        ):
            sent = orjson.loads(review(foo(), foo("b"), version=version, naming=naming).body())
            self.assertEqual(
                sent, {"kind": "ConversionReview", "apiVersion": f"{group}/{version}", "request": request}
            )


class AnswerTests(SynchronousTestCase):
    def taken(self, found: Object, *objects: Object, version: str = "v1") -> list[Object]:
        return review(*objects, version=version).converted(orjson.dumps(found))

    def refused(self, why: str, found: Any, *objects: Object, version: str = "v1") -> None:
        asked = review(*objects, version=version)
        error = self.assertRaises(
            ConversionFailed, asked.converted, found if type(found) is bytes else orjson.dumps(found)
        )
        self.assertEqual((error.code, error.reason, error.message), (500, "", SUBJECT + why))

    def test_metadata_is_kept(self) -> None:
        """Of metadata only labels and annotations may change; the rest is as it was (reference CRD-24)."""
        sent = foo(labels={"a": "b"}, annotations={"c": "d"}, finalizers=["x.io/y"])
        back = foo(version=V2, labels={"z": "y", "b": "c"}, generation=7, deletionTimestamp="now")
        (got,) = self.taken(answer({**back, "spec": {"y": 2}}), sent)
        meta = {**sent["metadata"], "labels": {"b": "c", "z": "y"}}
        del meta["annotations"]
        self.assertEqual(got, {"kind": "Foo", "apiVersion": V2, "metadata": meta, "spec": {"y": 2}})
        self.assertEqual(list(got["metadata"]["labels"]), ["b", "z"])

    def test_reviews(self) -> None:
        """An answer is a review with the question's uid and a response (reference CRD-42)."""
        good = answer(foo(version=V2))
        expected = f"expected webhook response of {REVIEW}, Kind=ConversionReview, got "
        self.refused(f"failed: {expected}{REVIEW}, Kind=Foo", {**good, "kind": "Foo"})
        self.refused(f"failed: {expected}a/b, Kind=ConversionReview", {**good, "apiVersion": "a/b"})
        self.refused(f"failed: {expected}/, Kind=", {"response": good["response"]})
        self.refused("failed: no response provided", {**good, "response": None})
        self.refused('failed: expected response.uid="id", got "other"', answer(foo(version=V2), uid="other"))
        self.refused('failed: expected response.uid="id", got ""', answer(foo(version=V2), uid=3))
        for text in (b"", b"nonsense", b"[]", b"3"):
            error = self.assertRaises(ConversionFailed, review().converted, text)
            start = f"{SUBJECT}failed: couldn't get version/kind; json parse error: "
            self.assertTrue(error.message.startswith(start), error.message)

    def test_older_review(self) -> None:
        """Of a v1beta1 review, the uid is not compared, and the type may be left out; another one is refused."""
        response = answer(foo(version=V2), uid="other")["response"]
        (got,) = self.taken({"response": response}, version="v1beta1")
        self.assertEqual(got["apiVersion"], V2)
        self.refused("failed: no response provided", {}, version="v1beta1")
        expected = "failed: expected webhook response of apiextensions.orch.io/v1beta1, Kind=ConversionReview, got "
        other = {"kind": "Other", "apiVersion": "v1", "response": response}
        self.refused(f"{expected}/v1, Kind=Other", other, version="v1beta1")

    def test_results(self) -> None:
        """A failed response has the webhook's message, if it has one (reference CRD-24)."""
        self.refused("failed: out of ideas", answer(result={"status": "Failed", "message": "out of ideas"}))
        failed = answer(result={"status": "Failed"})
        self.refused("failed: response.result.status was 'Failed', not 'Success'", failed)
        result: Any
        for result in ({}, None, "Success"):
            self.refused("failed: response.result.status was '', not 'Success'", answer(result=result))

    def test_numbers(self) -> None:
        """As many objects come back as were sent."""
        self.refused("returned 0 objects, expected 1", answer())
        self.refused("returned 0 objects, expected 1", answer(convertedObjects=None))
        self.refused("returned 2 objects, expected 1", answer(foo(version=V2), foo("b", V2)))
        self.refused("returned 1 objects, expected 2", answer(foo(version=V2)), foo(), foo("b"))

    def test_types(self) -> None:
        """Each is of the desired version and the same kind; of several objects the place is told."""
        alone = "returned invalid object at index 0: "
        self.refused(f"{alone}invalid groupVersion (expected ex.io/v2, received ex.io/v1)", answer(foo()))
        other = {**foo(version=V2), "kind": "Bar"}
        self.refused(f"{alone}invalid kind (expected Foo, received Bar)", answer(other))
        several = "returned invalid converted object at index 1: "
        good = foo(version=V2)
        self.refused(
            f"{several}invalid groupVersion (expected ex.io/v2, received ex.io/v1)", answer(good, foo("b")), foo(),
            foo("b"),
        )  # fmt: skip
        self.refused(f"{several}invalid kind (expected Foo, received Bar)", answer(good, other), foo(), foo("b"))
        for value, shown in ((None, "null"), (3, "3"), ({"apiVersion": V2}, '{"apiVersion":"ex.io/v2"}')):
            self.refused(f"{alone}Object 'Kind' is missing in '{shown}'", answer(value))

    def test_identity(self) -> None:
        """Each has the name, namespace and uid of what was sent in its place."""
        for key, name, change in (
            ("name", "name", {"name": "b"}),
            ("namespace", "namespace", {"namespace": ""}),
            ("uid", "UID", {"uid": 3}),
        ):
            found = change[key] if type(change[key]) is str else ""
            text = f"must have the same {name}: {foo()['metadata'][key]} != {found}"
            other = {**foo(version=V2), "metadata": {**foo()["metadata"], **change}}
            self.refused(f"returned invalid object: {text}", answer(other))
        text = "returned invalid converted object at index 0: must have the same name: a != b"
        self.refused(text, answer(foo("b", V2), foo("a", V2)), foo(), foo("b"))

    def test_metadata(self) -> None:
        """Labels and annotations are what they may be, if they have changed."""
        where = "returned invalid metadata: "
        bad = foo(version=V2)
        for meta, why in (
            ({"labels": []}, "invalid metadata.labels of type []interface {} in converted object"),
            ({"annotations": "x"}, "invalid metadata.annotations of type string in converted object"),
            ({"labels": {"a": 1}}, "metadata.labels[a] must be a string, but is int64 in converted object"),
            ({"labels": {"a": None}}, "metadata.labels[a] must be a string, but is <nil> in converted object"),
        ):
            self.refused(f"{where}{why}", answer({**bad, "metadata": {**bad["metadata"], **meta}}))
        error = self.assertRaises(
            ConversionFailed,
            review().converted,
            orjson.dumps(answer({**bad, "metadata": {**bad["metadata"], "labels": {"-": "x"}}})),
        )
        self.assertTrue(
            error.message.startswith(f'{SUBJECT}{where}metadata.labels: Invalid value: "-": '), error.message
        )
        self.taken(answer(foo(version=V2, labels={"-": "x"})), foo(labels={"-": "x"}))
        place = "returned invalid metadata in object at index 1: "
        self.refused(
            f"{place}invalid metadata.labels of type bool in converted object",
            answer(bad, foo("b", V2, labels=True)), foo(), foo("b"),
        )  # fmt: skip

    def test_no_metadata(self) -> None:
        """Without metadata an object is another one; one that has no name either lacks it."""
        bare = {key: value for key, value in foo(version=V2).items() if key != "metadata"}
        self.refused("returned invalid object: must have the same name: a != ", answer(bare))
        nameless = {**foo(), "metadata": {}}
        self.refused("returned invalid metadata: missing metadata in converted object", answer(bare), nameless)
        self.refused(
            "returned invalid metadata: invalid metadata of type float64 in converted object",
            answer({**bare, "metadata": 1.5}), nameless,
        )  # fmt: skip
