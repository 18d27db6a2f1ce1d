"""Plugins of other Python packages, found by their entry points (reference EXT-1).

Such packages create the records; the rest is for the server's registries, which add plugins to the built-in ones.
"""

from orchtw.plugins.entry_points import Plugins, installed
from orchtw.plugins.records import (
    AdmissionPlugin,
    AuthenticationPlugin,
    AuthorizationPlugin,
    ControllerPlugin,
    EncryptionPlugin,
    StoragePlugin,
)

__all__ = [
    "AdmissionPlugin",
    "AuthenticationPlugin",
    "AuthorizationPlugin",
    "ControllerPlugin",
    "EncryptionPlugin",
    "Plugins",
    "StoragePlugin",
    "installed",
]
