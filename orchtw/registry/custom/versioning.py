"""Conversion between the versions of a custom resource: by name alone, or by a webhook (reference CRD-24)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import msgspec

from orchtw.naming.naming import Naming
from orchtw.outbound.caller import Caller, CallFailed
from orchtw.outbound.remote import Remote
from orchtw.registry.custom.kinds import selectable_fields
from orchtw.registry.custom.stored import CustomStored
from orchtw.registry.custom.target import CustomTarget, WebhookTarget
from orchtw.registry.custom.webhook import ANSWER_BYTES, TIMEOUT_S, CallLost, Converter, WebhookConverter
from orchtw.registry.offload import Compute
from orchtw.registry.stored import Stored
from orchtw.registry.strategy import Strategy
from orchtw.registry.target import Target
from orchtw.registry.versioning import MakeVersioning, VersioningParts
from orchtw.schema.catalogue import ResourceType
from orchtw.schema.codec.codec import Codec
from orchtw.schema.custom.structural import CustomSchema
from orchtw.wire.objects import Object


class Versionings(msgspec.Struct, frozen=True, kw_only=True):
    """Makers of the versionings that definitions ask for."""

    caller: Caller
    run: Compute
    new_uid: Callable[[], str]
    naming: Naming

    def of(self, definition: Object) -> MakeVersioning:
        """Return the conversion between the versions of a valid definition."""
        conversion = definition["spec"].get("conversion") or {}
        versions = definition["spec"]["versions"]
        fields = tuple(dict.fromkeys(field for version in versions for field in selectable_fields(version)))
        if conversion.get("strategy") != "Webhook":
            return partial(SameFields, fields=fields)
        webhook = conversion["webhook"]
        call = WebhookCall(self.caller, Remote.of_client_config(webhook["clientConfig"]))
        reviews = webhook["conversionReviewVersions"]
        converter = WebhookConverter(call, reviews, self.run, self.new_uid, self.naming)
        return partial(ByWebhook, converter=converter, fields=fields)


class WebhookCall:
    """Caller of the webhook that a definition names. See `webhook.Call`."""

    def __init__(self, caller: Caller, remote: Remote) -> None:
        self._caller = caller
        self._remote = remote

    async def __call__(self, body: bytes) -> bytes:
        try:
            return await self._caller.post(self._remote, body, timeout_s=TIMEOUT_S, limit_bytes=ANSWER_BYTES)
        except CallFailed as failure:
            raise CallLost(str(failure)) from None


class SameFields(msgspec.Struct, frozen=True):
    """See `Versioning`, for the strategy None: objects are pruned as their new version asks for.

    `fields`: those that selectors of any version may name.
    """

    codecs: Mapping[str, Codec]
    fields: tuple[str, ...] = ()

    def stored(self, resource: ResourceType, codec: Codec, strategy: Strategy, prefix: str) -> Stored:
        return CustomStored(resource, codec, strategy, prefix, self.codecs, same=True, fields=self.fields)

    def target(self, parts: VersioningParts) -> Target:
        home, codec = parts.stored.codec, parts.codec
        target = CustomTarget(**msgspec.structs.asdict(parts))
        if codec is not home:
            target.same_fields = _is_alike(codec, home)
            target.to_storage = _renamed(home, alike=target.same_fields)
            target.from_storage = _renamed(codec, alike=target.same_fields)
        return target


class ByWebhook(msgspec.Struct, frozen=True):
    """See `Versioning`, for the strategy Webhook. Selectors see the fields of the version that an object lies in."""

    codecs: Mapping[str, Codec]
    converter: Converter
    fields: tuple[str, ...] = ()

    def stored(self, resource: ResourceType, codec: Codec, strategy: Strategy, prefix: str) -> Stored:
        return CustomStored(resource, codec, strategy, prefix, self.codecs, same=False, fields=self.fields)

    def target(self, parts: VersioningParts) -> Target:
        target = self._made(parts)
        if parts.codec is not parts.stored.codec:
            target.from_storage = partial(_from_storage, self._made(parts))  # another one: no reference to itself
        return target

    def _made(self, parts: VersioningParts) -> WebhookTarget:
        target = WebhookTarget(**msgspec.structs.asdict(parts), converter=self.converter)
        target.same_fields = False  # not even in the version that new objects are stored in: others lie in theirs
        return target


def _from_storage(target: WebhookTarget, obj: Object) -> Object:
    return target.convert(obj, target)


def _is_alike(one: Codec, other: Codec) -> bool:
    """Report whether two versions have the same schema."""
    first, second = one.schema, other.schema
    return isinstance(first, CustomSchema) and isinstance(second, CustomSchema) and first.source == second.source


def _renamed(codec: Codec, *, alike: bool) -> Callable[[Object], Object]:
    """Return the conversion into a codec's version."""

    def rename(obj: Object) -> Object:
        return {**obj, "apiVersion": codec.api_version}

    return rename if alike else lambda obj: codec.pruned(rename(obj))
