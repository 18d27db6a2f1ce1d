"""Services that verbs use: built once by the composition root, and handed to each of them."""

from __future__ import annotations

from random import Random

import msgspec
from twisted.internet.interfaces import IReactorTime

from orchtw.authz.decision import Authorizer
from orchtw.naming.naming import Naming
from orchtw.registry.offload import Offload
from orchtw.responses.list_metrics import ListMetrics
from orchtw.responses.representation import Representations
from orchtw.rules.continue_token import Tokens
from orchtw.rules.negotiation import Negotiator
from orchtw.rules.resource_version_match import WatchList
from orchtw.schema.codec.codecs import Codecs
from orchtw.schema.codec.kind_codec import KindCodec
from orchtw.storage.cache.watch_cache import Cacher
from orchtw.storage.store import Store
from orchtw.writes.delete import Deletion
from orchtw.writes.write_path import WritePath


class Reading(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """Services for get, list and watch. Without `chunked_lists`, limits and continue tokens are ignored.

    `watch_list` says what becomes of `sendInitialEvents`; `sharded`: lists and watches take `shardSelector`.
    """

    naming: Naming
    store: Store
    cacher: Cacher
    tokens: Tokens
    offload: Offload
    representations: Representations
    lists: ListMetrics
    chunked_lists: bool = True
    watch_list: WatchList = WatchList.UNKNOWN
    sharded: bool = False


class WatchTimes(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """Lifetime of watches: at least `min_s` seconds, unless a request asks for another timeout."""

    clock: IReactorTime
    random: Random
    min_s: int

    def deadline(self, asked_s: int | None) -> float:
        """Return the deadline by the clock, after the requested seconds, or a random time of one to two minimums
        (REQ-19).
        """
        lasts_s = float(asked_s) if asked_s else self.min_s * (1.0 + self.random.random())
        return self.clock.seconds() + lasts_s


class Kinds(msgspec.Struct, frozen=True, kw_only=True):
    """Codecs of the kinds in requests and responses beside those of their target."""

    delete_options: KindCodec
    scale: KindCodec
    binding: KindCodec
    eviction: KindCodec
    older_eviction: KindCodec
    pod: KindCodec
    token_request: KindCodec

    @classmethod
    def of(cls, codecs: Codecs) -> Kinds:
        """Look up the codecs of these kinds."""
        authentication = codecs.catalogue.naming.api_version("authentication.orch.io/v1")
        return cls(
            delete_options=codecs.kind("v1", "DeleteOptions"),
            scale=codecs.kind("autoscaling/v1", "Scale"),
            binding=codecs.kind("v1", "Binding"),
            eviction=codecs.kind("policy/v1", "Eviction"),
            older_eviction=codecs.kind("policy/v1beta1", "Eviction"),
            pod=codecs.kind("v1", "Pod"),
            token_request=codecs.kind(authentication, "TokenRequest"),
        )


class Writing(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """Services for the verbs that write.

    `unsafe_deletes` decides who may ignore read errors; None: the feature gate is off. `binds_labels`: a pod gets the
    labels of its Binding.
    """

    naming: Naming
    codecs: Codecs
    writes: WritePath
    deletion: Deletion
    negotiator: Negotiator
    offload: Offload
    kinds: Kinds
    representations: Representations
    unsafe_deletes: Authorizer | None = None
    binds_labels: bool = False
