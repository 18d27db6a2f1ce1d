"""Kinds of group certificates."""

from __future__ import annotations

from orchtw.registry.groups.certificates.pod_requests import POD_CERTIFICATE_REQUEST
from orchtw.registry.groups.certificates.requests import CERTIFICATE_SIGNING_REQUEST
from orchtw.registry.groups.certificates.trust_bundles import CLUSTER_TRUST_BUNDLE

KINDS = (CERTIFICATE_SIGNING_REQUEST, CLUSTER_TRUST_BUNDLE, POD_CERTIFICATE_REQUEST)
