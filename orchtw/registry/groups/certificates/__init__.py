"""Kinds of group certificates."""

from __future__ import annotations

from orchtw.registry.groups.certificates.requests import CERTIFICATE_SIGNING_REQUEST

KINDS = (CERTIFICATE_SIGNING_REQUEST,)
