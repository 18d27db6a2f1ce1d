"""Kinds of group networking."""

from __future__ import annotations

from orchtw.registry.groups.networking.ingress_classes import INGRESS_CLASS
from orchtw.registry.groups.networking.ingresses import INGRESS
from orchtw.registry.groups.networking.network_policies import NETWORK_POLICY
from orchtw.registry.groups.networking.service_ranges import IP_ADDRESS, SERVICE_CIDR

KINDS = (INGRESS, INGRESS_CLASS, IP_ADDRESS, NETWORK_POLICY, SERVICE_CIDR)
