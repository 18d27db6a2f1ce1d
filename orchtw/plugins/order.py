"""The places of plugins among what is built in (reference EXT-5)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from orchtw.plugins.records import AdmissionPlugin, AuthenticationPlugin

LAST = "MutatingAdmissionWebhook"
"""The admission plugin before which those without an anchor are asked: webhooks and quotas see what they did."""


def admission_order(built_in: Sequence[str], plugins: Mapping[str, AdmissionPlugin]) -> tuple[str, ...]:
    """The names of admission plugins in the order in which they are asked.

    A plugin's anchor may be a plugin itself. One whose anchor does not exist is left out: see `misplaced`.
    """
    order = list(built_in)
    waiting = dict(plugins)
    while placeable := {name: each for name, each in waiting.items() if _anchor(each) in order}:
        for name, each in placeable.items():
            order.insert(order.index(_anchor(each)) + bool(each.after), name)
            del waiting[name]
    return tuple(order)


def anchored(built_in: Sequence[str], before: Mapping[str, str]) -> list[str]:
    """The names of authentication methods, each plugin's before its anchor, else at the end."""
    order = list(built_in)
    for name, anchor in before.items():
        order.insert(order.index(anchor) if anchor in built_in else len(order), name)
    return order


def misplaced_admission(built_in: Sequence[str], plugins: Mapping[str, AdmissionPlugin]) -> list[str]:
    """A line for each admission plugin that has two anchors, or one that does not exist."""
    placed = frozenset(admission_order(built_in, plugins))
    return [
        f"plugin {name} of orchtw.admission: both before={each.before} and after={each.after} are set"
        if each.before and each.after
        else f'plugin {name} of orchtw.admission: there is no plugin "{_anchor(each)}" to be placed beside'
        for name, each in plugins.items()
        if name not in placed or (each.before and each.after)
    ]


def misplaced_authentication(
    methods: Sequence[str], sources: Sequence[str], plugins: Mapping[str, AuthenticationPlugin]
) -> list[str]:
    """A line for each authentication method before a name that does not exist among its like."""
    return [
        f'plugin {name} of orchtw.authentication: before="{each.before}" is not one of {", ".join(known)}'
        for name, each in plugins.items()
        if each.before and each.before not in (known := sources if each.tokens else methods)
    ]


def _anchor(plugin: AdmissionPlugin) -> str:
    return plugin.after or plugin.before or LAST
