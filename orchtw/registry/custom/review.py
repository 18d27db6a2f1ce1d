"""ConversionReviews: requests, and checks of responses (reference CRD-24, CRD-42)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import msgspec
import orjson

from orchtw.errors import Cause, StatusError
from orchtw.naming.naming import Naming
from orchtw.registry.metadata import ORDER
from orchtw.schema.codec.json_text import load_json
from orchtw.schema.codec.mismatch import shortened
from orchtw.schema.validation.metadata import validate_annotations, validate_labels
from orchtw.values.causes import go_quote
from orchtw.wire.objects import Object

GROUP: Final = "apiextensions.orch.io"
KIND: Final = "ConversionReview"

_MESSAGE: Final = 4096
"""Characters of a webhook's own message that are repeated."""

_TEXTS: Final[tuple[tuple[str, Callable[[Mapping[str, str], str], list[Cause]], str], ...]] = (
    ("labels", validate_labels, "metadata.labels"),
    ("annotations", validate_annotations, "metadata.annotation"),
)


class ConversionFailed(StatusError):
    """500: a webhook has not converted an object; no reason is given."""


class Review(msgspec.Struct, frozen=True, kw_only=True):
    """One question to a webhook: objects of one kind, in any versions but the desired one.

    `version` is that of the review: v1 or v1beta1. Refusals name the version of the first object.
    """

    version: str
    uid: str
    desired: str
    kind: str
    objects: Sequence[bytes]
    naming: Naming

    def body(self) -> bytes:
        """Return the review as JSON."""
        review = self._review_version
        head = orjson.dumps({"kind": KIND, "apiVersion": review})[:-1]
        asked = orjson.dumps({"uid": self.uid, "desiredAPIVersion": self.desired})[:-1]
        return b'%b,"request":%b,"objects":[%b]}}' % (head, asked, b",".join(self.objects))

    def converted(self, answer: bytes) -> list[Object]:
        """Return the converted objects, with the metadata that they had: only labels and annotations may be new.

        Raises ConversionFailed.
        """
        originals = [load_json(text) for text in self.objects]
        subject = self.subject
        try:
            found = self._answered(answer)
        except _Unusable as problem:
            raise ConversionFailed(f"{subject} failed: {problem}") from None
        if len(found) != len(originals):
            raise ConversionFailed(f"{subject} returned {len(found)} objects, expected {len(originals)}")
        alone = len(originals) == 1
        return [
            self._checked(subject, index, alone, original, value)
            for index, (original, value) in enumerate(zip(originals, found, strict=True))
        ]

    @property
    def subject(self) -> str:
        """Subject of refusals: the type of the first object."""
        return f"conversion webhook for {_shown_kind(load_json(self.objects[0]))}"

    @property
    def size(self) -> int:
        """Approximate number of bytes of the review."""
        return sum(map(len, self.objects))

    @property
    def _review_version(self) -> str:
        return f"{self.naming.group(GROUP)}/{self.version}"

    def _answered(self, answer: bytes) -> list[Any]:
        """Return the objects in an answer, not yet checked. Raises _Unusable."""
        try:
            review = load_json(answer)
        except ValueError as error:
            raise _Unusable(f"couldn't get version/kind; json parse error: {error}") from None
        if type(review) is not dict:
            raise _Unusable(f"couldn't get version/kind; json parse error: {_go_type(review)} is not an object")
        response = review.get("response")
        v1 = self.version == "v1"  # in v1beta1 an answer need not name the question, nor say of what type it is
        found = review.get("apiVersion"), review.get("kind")
        if found != (self._review_version, KIND) and (v1 or any(found)):
            raise _Unusable(
                f"expected webhook response of {self._review_version}, Kind={KIND}, got {_shown_kind(review)}"
            )
        if type(response) is not dict:
            raise _Unusable("no response provided")
        if v1 and response.get("uid") != self.uid:
            uid = shortened(_text(response.get("uid")))
            raise _Unusable(f"expected response.uid={go_quote(self.uid)}, got {go_quote(uid)}")
        result = response.get("result")
        status = _text(result.get("status")) if type(result) is dict else ""
        if status != "Success":
            message = _text(result.get("message")) if type(result) is dict else ""
            raise _Unusable(message[:_MESSAGE] or f"response.result.status was '{shortened(status)}', not 'Success'")
        objects = response.get("convertedObjects") or []
        return objects if type(objects) is list else [objects]

    def _checked(self, subject: str, index: int, alone: bool, original: Object, value: Any) -> Object:
        """Return one converted object with its metadata restored. Raises ConversionFailed."""
        which = "" if alone else f" in object at index {index}"
        invalid = f"{subject} returned invalid object" if alone else (
            f"{subject} returned invalid converted object at index {index}"
        )
        typed = f"{invalid} at index 0" if alone else invalid
        try:
            self._check_type(original, value)
        except _Unusable as problem:
            raise ConversionFailed(f"{typed}: {problem}") from None
        try:
            _check_identity(original, value)
        except _Unusable as problem:
            raise ConversionFailed(f"{invalid}: {problem}") from None
        try:
            meta = _restored(original["metadata"], value)
        except _Unusable as problem:
            raise ConversionFailed(f"{subject} returned invalid metadata{which}: {problem}") from None
        rest = {key: part for key, part in value.items() if key not in ("kind", "apiVersion", "metadata")}
        return {"kind": self.kind, "apiVersion": self.desired, "metadata": meta, **rest}

    def _check_type(self, original: Object, value: Any) -> None:
        if type(value) is not dict or not value.get("kind"):
            raise _Unusable(f"Object 'Kind' is missing in '{shortened(orjson.dumps(value).decode())}'")
        found = _text(value.get("apiVersion"))
        if found != self.desired:
            raise _Unusable(f"invalid groupVersion (expected {self.desired}, received {shortened(found)})")
        kind = _text(value["kind"])
        if kind != original["kind"]:
            raise _Unusable(f"invalid kind (expected {original['kind']}, received {shortened(kind)})")


class _Unusable(Exception):
    """Error: the response is unusable."""


def _check_identity(original: Object, value: Object) -> None:
    """Check that name, namespace and UID are those of the object that was sent. Raises _Unusable."""
    before, after = original["metadata"], value.get("metadata")
    after = after if type(after) is dict else {}
    for key, name in (("name", "name"), ("namespace", "namespace"), ("uid", "UID")):
        expected, found = _text(before.get(key)), _text(after.get(key))
        if expected != found:
            raise _Unusable(f"must have the same {name}: {expected} != {shortened(found)}")


def _restored(meta: Object, value: Object) -> Object:
    """Return the metadata of an object that was sent, with labels and annotations of the converted one."""
    if "metadata" not in value:
        raise _Unusable("missing metadata in converted object")
    found = value["metadata"]
    if type(found) is not dict:
        raise _Unusable(f"invalid metadata of type {_go_type(found)} in converted object")
    kept = dict(meta)
    for key, validate, place in _TEXTS:
        kept.pop(key, None)
        texts = found.get(key)
        if texts is None:
            continue
        if type(texts) is not dict:
            raise _Unusable(f"invalid metadata.{key} of type {_go_type(texts)} in converted object")
        for name, text in texts.items():
            if type(text) is not str:
                found_type = _go_type(text)
                raise _Unusable(f"metadata.{key}[{name}] must be a string, but is {found_type} in converted object")
        if texts != (meta.get(key) or {}) and (causes := validate(texts, place)):
            raise _Unusable(_joined(causes))
        if texts:
            kept[key] = dict(sorted(texts.items()))
    return {key: kept[key] for key in ORDER if key in kept}


def _joined(causes: Sequence[Cause]) -> str:
    texts = list(dict.fromkeys(map(str, causes)))
    return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"


def _shown_kind(obj: Mapping[str, Any]) -> str:
    """Format a kind such as `ex.io/v1, Kind=Foo`."""
    group, _, version = _text(obj.get("apiVersion")).rpartition("/")
    return shortened(f"{group}/{version}, Kind={_text(obj.get('kind'))}")


def _text(value: object) -> str:
    return value if type(value) is str else ""


def _go_type(value: object) -> str:
    """Return the release's name for the type of a JSON value."""
    names = {dict: "map[string]interface {}", list: "[]interface {}", str: "string", bool: "bool", int: "int64"}
    return "<nil>" if value is None else names.get(type(value), "float64")
