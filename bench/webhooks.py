"""Cost of admission webhooks to a write, and the write rate through one that takes its time."""

from __future__ import annotations

from bench.hooks import MUTATING, VALIDATING, Hook, configured, hook
from bench.session import Bench
from bench.webhook_process import Webhook, webhook


def webhooks(bench: Bench) -> None:
    """Create ConfigMaps without a webhook, through one of each kind, and through one that takes 50 ms."""
    with webhook() as server:
        bench.machine.helpers = [server.pid]
        path = bench.namespace()
        for name, hooks, workers in _rounds(bench, server):
            with configured(bench, hooks):
                for subject in bench.subjects("configmaps"):
                    make = bench.creating(subject.within(path), subject, name)
                    scenario = f"webhooks_{name}_{subject.plural}"
                    bench.measure(scenario, workers, make, count=bench.options.n_create)


def _rounds(bench: Bench, server: Webhook) -> list[tuple[str, list[Hook], int]]:
    """Names, webhooks and connections."""
    few, many = min(bench.options.conc), max(bench.options.conc)
    return [
        ("none", [], few),
        ("allow", [hook(VALIDATING, server.client_config("/allow"))], few),
        ("label", [hook(MUTATING, server.client_config("/label"))], few),
        ("slow", [hook(MUTATING, server.client_config("/slow"))], many),
    ]
