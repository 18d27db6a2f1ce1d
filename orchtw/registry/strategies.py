"""The registry of strategies: which kind has one of its own."""

from __future__ import annotations

from orchtw.naming import Naming
from orchtw.registry.autoscaling import AutoscalerStrategy
from orchtw.registry.certificates import SigningRequestStrategy
from orchtw.registry.core import NamespaceStrategy, NodeStrategy, PodStrategy, SecretStrategy
from orchtw.registry.definitions import DefinitionStrategy
from orchtw.registry.strategy import Strategy
from orchtw.schema.catalogue import ResourceType
from orchtw.schema.codec.codecs import KindCodec

STRATEGIES: dict[tuple[str, str], type[Strategy]] = {
    ("", "Namespace"): NamespaceStrategy,
    ("", "Node"): NodeStrategy,
    ("", "Pod"): PodStrategy,
    ("", "Secret"): SecretStrategy,
    ("apiextensions", "CustomResourceDefinition"): DefinitionStrategy,
    ("autoscaling", "HorizontalPodAutoscaler"): AutoscalerStrategy,
    ("certificates", "CertificateSigningRequest"): SigningRequestStrategy,
}
"""By first word of the group and kind; every other kind has the generic `Strategy`."""


def strategy_for(resource: ResourceType, naming: Naming, codec: KindCodec) -> Strategy:
    """The strategy of a stored resource; `codec` is that of its storage version."""
    return STRATEGIES.get((resource.group.split(".")[0], resource.kind), Strategy)(resource, naming, codec)
