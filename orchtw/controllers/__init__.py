"""The controllers, one per module, and the registry of their names as `--controllers` spells them.

They work through a `Client`, in this process or in another: nothing here knows the store or HTTP.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from orchtw.controllers.controller import Controller, Host
from orchtw.controllers.garbage_collector import GarbageCollector
from orchtw.controllers.manager import Settings
from orchtw.controllers.namespace import NamespaceController
from orchtw.controllers.root_ca_publisher import RootCAPublisher
from orchtw.controllers.service_account_tokens import TokenController
from orchtw.controllers.service_accounts import ServiceAccountController

CONTROLLERS: Mapping[str, Callable[[Host, Settings], Controller]] = {
    "garbagecollector": lambda host, settings: GarbageCollector(host, settings.concurrent_gc_syncs),
    "namespace": lambda host, settings: NamespaceController(
        host, settings.concurrent_namespace_syncs, resync_s=settings.namespace_sync_period_s
    ),
    "serviceaccount-token": lambda host, settings: TokenController(
        host, settings.concurrent_token_syncs, settings.legacy_token, settings.root_ca_pem
    ),
    "serviceaccount": lambda host, settings: ServiceAccountController(host),
    "root-ca-cert-publisher": lambda host, settings: RootCAPublisher(host, settings.root_ca_pem),
}
"""What `--controllers` can name, in the order in which they start."""


def chosen(asked: Sequence[str]) -> frozenset[str]:
    """The controllers that `--controllers` asks for: `*` is all, `-name` all but it, `-*` none but those named."""
    others = "*" in asked and "-*" not in asked
    return frozenset(name for name in CONTROLLERS if name in asked or (others and f"-{name}" not in asked))


def enabled(host: Host, settings: Settings) -> list[Controller]:
    """The controllers that are switched on."""
    return [make(host, settings) for name, make in CONTROLLERS.items() if name in settings.enabled]
