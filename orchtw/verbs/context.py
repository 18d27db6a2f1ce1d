"""What the verbs work with: made once by the composition root, handed to each of them."""

from __future__ import annotations

from random import Random

import attrs
from twisted.internet.interfaces import IReactorTime

from orchtw.naming import Naming
from orchtw.registry.deletion import Deletion
from orchtw.registry.offload import Offload
from orchtw.registry.write_path import WritePath
from orchtw.rules.negotiation import Negotiator
from orchtw.rules.origins import AllowedOrigins
from orchtw.rules.paging import Tokens
from orchtw.schema.codec.codecs import Codecs, KindCodec
from orchtw.storage.cache import Cacher
from orchtw.storage.interface import Store
from orchtw.verbs.representation import Representations


@attrs.frozen(slots=True, kw_only=True, eq=False)
class Context:
    """The server's parts that verbs use.

    `min_request_timeout_s` is the least default duration of a watch; pages of `origins` may watch over WebSockets.
    """

    naming: Naming
    clock: IReactorTime
    random: Random
    store: Store
    cacher: Cacher
    codecs: Codecs
    negotiator: Negotiator
    tokens: Tokens
    representations: Representations
    offload: Offload
    writes: WritePath
    deletion: Deletion
    delete_options: KindCodec
    scale: KindCodec
    binding: KindCodec
    eviction: KindCodec
    pod: KindCodec
    min_request_timeout_s: int
    origins: AllowedOrigins = AllowedOrigins()
    chunked_lists: bool = True
