"""Ranges of Services' addresses, and the addresses that objects have (reference KIND-92)."""

from __future__ import annotations

from typing import Final

from orchtw.errors import Cause
from orchtw.naming.naming import Naming
from orchtw.registry.kind import KindRecord
from orchtw.schema.tables import cells_cluster
from orchtw.schema.validation.problems import IMMUTABLE
from orchtw.values.addresses import parse_cidr, parse_ip
from orchtw.values.causes import invalid, required
from orchtw.values.names import NameForm, dns_subdomain, path_segment
from orchtw.wire.objects import Object

_CIDRS: Final = "spec.cidrs"
_NOT_A_CIDR: Final = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"
_FAMILIES: Final = "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64"
_PARENT: Final = "spec.parentRef"


def validate_service_cidr(new: Object, old: Object | None, naming: Naming) -> list[Cause]:
    """Validate the ranges: one of each IP family, which stay."""
    cidrs = (new.get("spec") or {}).get("cidrs") or []
    causes = _range_causes(cidrs)
    if old is not None and cidrs != ((old.get("spec") or {}).get("cidrs") or []):
        causes.append(invalid(_CIDRS, cidrs, IMMUTABLE))
    return causes


def _range_causes(cidrs: list[str]) -> list[Cause]:
    if not cidrs:
        return [required(_CIDRS, "at least one CIDR required")]
    if len(cidrs) > 2:
        return [invalid(_CIDRS, cidrs, "may only hold up to 2 values")]
    found = [parse_cidr(each) for each in cidrs]
    if len(found) == 2 and None not in found and len({each.version for each in found if each}) == 1:
        return [invalid(_CIDRS, cidrs, _FAMILIES)]
    causes = []
    for index, (text, network) in enumerate(zip(cidrs, found, strict=True)):
        if network is None:
            causes.append(invalid(f"{_CIDRS}[{index}]", text, _NOT_A_CIDR))
        elif str(network) != text:
            why = f'must be in canonical form ("{network}")'
            causes.append(invalid(f"{_CIDRS}[{index}]", text, why))
    return causes


def _address_name(value: str) -> tuple[str, ...]:
    """Return why a name is not an address in canonical form."""
    address = parse_ip(value)
    if address is None:
        return (f'ParseAddr("{value}"): unable to parse IP',)
    return () if str(address) == value else ("must be a canonical format IP address",)


def validate_ip_address(new: Object, old: Object | None, naming: Naming) -> list[Cause]:
    """Validate the owner, which stays."""
    parent = (new.get("spec") or {}).get("parentRef")
    if parent is None:
        return [required(_PARENT)]
    causes = []
    if group := parent.get("group"):
        causes += [invalid(f"{_PARENT}.group", group, text) for text in dns_subdomain(group)]
    for key in ("resource", "name"):
        if not parent.get(key):
            causes.append(required(f"{_PARENT}.{key}"))
    for key in ("resource", "name", "namespace"):
        if value := parent.get(key):
            causes += [invalid(f"{_PARENT}.{key}", value, text) for text in path_segment(value)]
    if old is not None and parent != (old.get("spec") or {}).get("parentRef"):
        causes.append(invalid(_PARENT, parent, IMMUTABLE))
    return causes


SERVICE_CIDR = KindRecord(
    group="networking.orch.io",
    kind="ServiceCIDR",
    validate=validate_service_cidr,
    cells=cells_cluster.service_cidr,
)
IP_ADDRESS = KindRecord(
    group="networking.orch.io",
    kind="IPAddress",
    name_form=NameForm(_address_name, _address_name),
    validate=validate_ip_address,
    cells=cells_cluster.ip_address,
)
