"""The built-in admission plugins, one a file, and the registry of their names as the flags spell them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from orchtw.admission.chain import Plugin
from orchtw.admission.host import Host, Settings
from orchtw.admission.plugins.namespace_lifecycle import NamespaceLifecycle

PLUGINS: Mapping[str, Callable[[Host, Settings], Plugin]] = {
    "NamespaceLifecycle": lambda host, settings: NamespaceLifecycle.of(host),
}
"""What `--enable-admission-plugins` can name; they run in the order of `selection.ORDER`."""
