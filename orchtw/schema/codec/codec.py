"""Protocol of the codecs of kinds, which built-in kinds and custom kinds implement."""

from __future__ import annotations

from typing import Any, Protocol

from orchtw.errors import Cause, StatusError
from orchtw.schema.codec.kind_codec import KindCodec
from orchtw.schema.nodes import StructSchema


class Codec(Protocol):
    """Codec of the objects of one kind in one version: every step of a body between its bytes and the store.

    A body is parsed without a codec; the codec fits what it holds to the schema and, once admission has seen the
    object, checks it. `body.py` is the way up to the check, of bodies and of parsed values. An object is a canonical
    dict: keys in emission order, kind and apiVersion first.

    `type_prefix` is how the kind's JSON begins: `{"kind":"Pod","apiVersion":"v1",`. A kind without a type of its own
    (WatchEvent) has neither key, and the prefix `{`. `item_prefix` is the same for items of a list: only items
    without a Protobuf form name their kind (reference OBJ-14). `protobuf` False: the kind has no Protobuf form.
    """

    @property
    def api_version(self) -> str:
        """Return the group and version, such as `apps/v1`."""

    @property
    def kind(self) -> str:
        """Return the kind's name."""

    @property
    def schema(self) -> StructSchema:
        """Return the schema that the objects have."""

    @property
    def protobuf(self) -> bool:
        """Report whether the kind has a Protobuf form."""

    @property
    def with_message(self) -> KindCodec | None:
        """Return this codec if its kind has a message, and so the methods for it; None for a custom kind."""

    @property
    def type_prefix(self) -> bytes:
        """Return the first bytes of an object's JSON."""

    @property
    def item_prefix(self) -> bytes:
        """Return the first bytes of the JSON of an item in a list."""

    @property
    def unread(self) -> bool:
        """Report whether no object has been decoded from Protobuf yet: the first one compiles functions."""

    def work_bytes(self, size_bytes: int) -> int:
        """Return the size that decides if an object of `size_bytes` is processed off the reactor."""

    def may_take_long(self, size_bytes: int) -> bool:
        """Report whether checks of an object of that size may hold the reactor for longer than its size says."""

    def excused(self, new: dict[str, Any], old: dict[str, Any] | None) -> list[str]:
        """Return warnings about faults that do not refuse a change, because they were there before."""

    def fit(self, value: object, directive: str, text: bytes = b"") -> tuple[dict[str, Any], list[str]]:
        """Return the object of a JSON-shaped value, with its declared defaults, and the findings of a strict reader.

        `text` is the JSON of the value, if there is one; repeated keys show there alone. Findings, such as
        `unknown field "spec.foo"`, come under every directive but Ignore, and never raise (reference WRITE-26).
        Raises BadRequest (400) naming the place that does not fit; for custom kinds Invalid (422).
        """

    def fit_message(
        self, api_version: str, kind: str, raw: bytes, live: dict[str, Any] | None = None, live_raw: bytes = b""
    ) -> dict[str, Any]:
        """Return the object of a Protobuf message, with its declared defaults; its type may be empty.

        `live` is an object of this version with its declared defaults, and `live_raw` its message: what has the same
        bytes under a top key becomes the part of `live`, as in `fit_changes`.
        Raises BadRequest (400) naming the unreadable place, or for another kind or version.
        """

    def fit_changes(
        self, value: dict[str, Any], live: dict[str, Any], directive: str, text: bytes = b""
    ) -> tuple[dict[str, Any], list[str]]:
        """Return the result of `fit` for a value that has parts of `live`, an object with its declared defaults.

        A part under a top key, or in metadata, that is the very part of `live` or has its text becomes the part of
        `live`: a change of status or metadata costs no look at the rest. Other parts share no struct with
        `live`.
        """

    def check(self, new: dict[str, Any], old: dict[str, Any] | None) -> list[Cause]:
        """Return every cause why `new` breaks the rules that its schema declares; `old` None: it is created."""

    def check_part(self, key: str, new: dict[str, Any], old: dict[str, Any] | None) -> list[Cause]:
        """Return the causes of `check` for the part under one top key, such as `status`, with paths below it."""

    def normalise(self, value: object) -> dict[str, Any]:
        """Return a JSON-shaped value as an object without defaults; kind and apiVersion may be absent.

        Raises as `fit` does.
        """

    def set_defaults(self, obj: dict[str, Any]) -> None:
        """Fill an object in place with the declared defaults."""

    def strict_findings(self, value: dict[str, Any], text: bytes = b"") -> list[str]:
        """Return the findings of `fit` for a value that could be normalised."""

    def pruned(self, obj: dict[str, Any]) -> dict[str, Any]:
        """Return an object that was converted from another version as one of this version, without defaults."""

    def refresh(self, obj: dict[str, Any]) -> dict[str, Any]:
        """Return an object of the store as the schema is now, with its declared defaults."""

    def refusal(self, why: str) -> StatusError:
        """Return the 400 for an object that does not fit (reference ERR-15)."""
