"""Order of plugins among the built-in ones (reference EXT-5)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from orchtw.plugins.records import AdmissionPlugin, AuthenticationPlugin

LAST = "MutatingAdmissionWebhook"
"""Built-in plugin before which plugins without an anchor run, so that webhooks and quotas see their changes."""


def admission_order(built_in: Sequence[str], plugins: Mapping[str, AdmissionPlugin]) -> tuple[str, ...]:
    """Return the names of admission plugins in the order in which they run.

    An anchor may be another plugin. A plugin whose anchor does not exist is left out: see `misplaced_admission`.
    """
    order = list(built_in)
    waiting = dict(plugins)
    while placeable := {name: each for name, each in waiting.items() if _anchor(each) in order}:
        for name, each in placeable.items():
            order.insert(order.index(_anchor(each)) + bool(each.after), name)
            del waiting[name]
    return tuple(order)


def anchored(built_in: Sequence[str], before: Mapping[str, str]) -> list[str]:
    """Return the names of authentication methods: each plugin before its built-in anchor, or at the end."""
    order = list(built_in)
    for name, anchor in before.items():
        order.insert(order.index(anchor) if anchor in built_in else len(order), name)
    return order


def misplaced_admission(built_in: Sequence[str], plugins: Mapping[str, AdmissionPlugin]) -> list[str]:
    """Return a line for each admission plugin that has two anchors, or one that does not exist."""
    placed = frozenset(admission_order(built_in, plugins))
    return [
        f"plugin {name} of orchtw.admission: both before={each.before} and after={each.after} are set"
        if each.before and each.after
        else f'plugin {name} of orchtw.admission: there is no plugin "{_anchor(each)}" to place it next to'
        for name, each in plugins.items()
        if name not in placed or (each.before and each.after)
    ]


def misplaced_authentication(
    methods: Sequence[str], sources: Sequence[str], plugins: Mapping[str, AuthenticationPlugin]
) -> list[str]:
    """Return a line for each authentication plugin whose anchor is not a built-in method (or token source)."""
    return [
        f'plugin {name} of orchtw.authentication: before="{each.before}" is not one of {", ".join(known)}'
        for name, each in plugins.items()
        if each.before and each.before not in (known := sources if each.tokens else methods)
    ]


def _anchor(plugin: AdmissionPlugin) -> str:
    return plugin.after or plugin.before or LAST
