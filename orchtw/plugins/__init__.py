"""Plugins of other Python packages, found by their entry points (reference EXT-1).

The records are what such packages make of these classes; everything else is for the server's own registries, whose
packages list what is built in and look here for more.
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
