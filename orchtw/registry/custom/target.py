"""A custom resource in one of its versions (reference CRD-24, CRD-41)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

import attrs
import orjson

from orchtw.registry.at_rest import Replaced
from orchtw.registry.converting import Known, Unconverted, known_conversion
from orchtw.registry.custom.forms import Coming, WebhookForms
from orchtw.registry.custom.stored import CustomStored
from orchtw.registry.custom.webhook import Converter
from orchtw.registry.metadata import ordered
from orchtw.registry.stored import Prepared
from orchtw.registry.target import Target
from orchtw.schema.codec.json_text import load_json
from orchtw.watch.entry import Entry
from orchtw.wire.objects import Object


@attrs.define(slots=True, kw_only=True, eq=False)
class CustomTarget(Target):
    """See `Target`. Rules are those of the request's version: only what is stored is in the storage version."""

    @property
    def row_key(self) -> tuple[str, ...]:
        return self._key("cells")

    def draft(self, obj: Object) -> Object:
        return obj

    def load_draft(self, entry: Entry) -> Object:
        is_plain = self.from_storage is None and self.forms is None and self.stored.is_current(entry)
        return self.stored.load_draft(entry) if is_plain else self.load(entry)

    def shown_draft(self, draft: Object) -> Object:
        return draft

    def prepare(self, draft: Object, replaced: Replaced | None = None) -> Prepared:
        obj = self.store_form(draft)
        if obj is not draft:
            obj["metadata"] = ordered(obj["metadata"])
        return self.stored.prepare(obj)


@attrs.define(slots=True, kw_only=True, eq=False)
class WebhookTarget(CustomTarget):
    """A version of a kind that a webhook converts.

    Entries stored in another version also keep their form in this one, once it has been made.
    """

    stored: CustomStored
    converter: Converter
    _coming: Coming = attrs.field(factory=dict, init=False)

    @property
    def forms(self) -> WebhookForms:
        """Converter of entries to this version, made on each access because it refers to the target."""
        return WebhookForms(self, self._coming)

    def has_json(self, entry: Entry) -> bool:
        return self._is_own(entry) or self._cached(entry, self._key("json")) is not None

    def json_tail(self, entry: Entry) -> bytes:
        """Return the JSON of an entry, as `Target.json_tail`. Raises Unconverted."""
        if self._is_own(entry):
            return self.stored.json_tail(entry)
        tail = self._cached(entry, self._key("json"))
        if tail is None:
            raise Unconverted(lambda known: self.forms.ensure((entry,)))
        return tail

    def load(self, entry: Entry) -> Object:
        """Return an entry as a dict, as `Target.load`. Raises Unconverted."""
        obj: Object = load_json(self.codec.type_prefix + self.json_tail(entry))
        return obj

    def store_form(self, obj: Object) -> Object:
        """Return the object in the storage version, as `Target.store_form`. Raises Unconverted."""
        return self._converted(obj, self.stored.codec.api_version)

    def convert(self, obj: Object, wanted: Target) -> Object:
        """Return the object in another version, as `Target.convert`. Raises Unconverted."""
        return self._converted(obj, wanted.codec.api_version)

    def for_writer(self, draft: Object) -> Object | None:
        return draft

    def as_written(self, entry: Entry, draft: Object | None) -> Entry:
        """Return an entry in the form that its writer sent, as `Target.as_written`; others get the conversion."""
        if draft is None or self.has_json(entry):
            return entry
        meta = {**draft["metadata"], "resourceVersion": str(entry.revision)}
        if not entry.revision:
            del meta["resourceVersion"]
        tail = orjson.dumps({**draft, "metadata": meta})[len(self.codec.type_prefix) :]
        return attrs.evolve(entry, other={**(entry.other or {}), self._key("json"): tail})

    async def make(self, entries: Sequence[Entry]) -> None:
        """Have the webhook make the forms of entries in this version. Raises ConversionFailed."""
        texts = await self.converter.convert([self.stored.text(entry) for entry in entries], self.codec)
        for entry, text in zip(entries, texts, strict=True):
            self._keep(entry, self._key("json"), text[len(self.codec.type_prefix) :])

    def _is_own(self, entry: Entry) -> bool:
        return self.stored.version_of(entry) == self.codec.api_version

    def _converted(self, obj: Object, wanted: str) -> Object:
        if wanted == obj["apiVersion"]:
            return obj
        text, found = known_conversion(obj, wanted)
        if found is None:
            raise Unconverted(self._making(text, wanted))
        return found

    def _making(self, text: bytes, wanted: str) -> Callable[[Known], Awaitable[None]]:
        codec = self.stored.codecs[wanted]

        async def make(known: Known) -> None:
            (known[wanted, text],) = await self.converter.convert([text], codec)

        return make
