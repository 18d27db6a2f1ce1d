"""The formats of texts, numbers and quantities that rules can name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from orchtw.values import addresses, device_names, file_paths, names, ports

FORMATS: Final[Mapping[str, Callable[[Any], tuple[str, ...]]]] = {
    "dns_label": names.dns_label,
    "dns_1035_label": names.dns_1035_label,
    "dns_subdomain": names.dns_subdomain,
    "label_value": names.label_value,
    "qualified_name": names.qualified_name,
    "config_key": names.config_key,
    "path_segment": names.path_segment,
    "csi_driver": names.csi_driver,
    "c_identifier": names.c_identifier,
    "fully_qualified_name": names.fully_qualified_name,
    "pool_name": device_names.pool_name,
    "device_attribute": device_names.device_attribute,
    "extended_resource": device_names.extended_resource,
    "uuid": device_names.uuid,
    "absolute_path": file_paths.absolute_path,
    "descending_path": file_paths.descending_path,
    "file_path": file_paths.file_path,
    "no_backsteps": file_paths.no_backsteps,
    "port": ports.port,
    "port_name": ports.port_name,
    "socket_address": addresses.socket_address,
}
"""Checks by name: each returns what is wrong with a value, or nothing."""
