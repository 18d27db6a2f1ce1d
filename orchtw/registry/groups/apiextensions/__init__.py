"""Custom resource definitions: their validation, defaults and write rules.

Serving what they define is not here.
"""

from __future__ import annotations

from orchtw.registry.groups.apiextensions.definition import CUSTOM_RESOURCE_DEFINITION

KINDS = (CUSTOM_RESOURCE_DEFINITION,)
