"""Identifiers of one vocabulary in another one, by kind of identifier.

Each method leaves alone what it does not know, and the methods of the way back undo what they did: a name is
translated only if its translation leads back to it. So names that users made stay, whatever they look like.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from orchtw.naming.names import Naming

# Of clients, which write and look for one spelling, whatever server they talk to.
_CLIENTS = ("orchctl.orch.io/", "kubectl.kubernetes.io/")
_SYSTEM = "system:"
_ACCOUNTS = re.compile(r"(system:serviceaccounts?:)([^:]*)(.*)", re.DOTALL)
_NODE = "system:node:"
_SUBSCRIPT = re.compile(r"(metadata\.(?:labels|annotations)\[')([^']*)('\])")
_TOKEN_PATH = "/var/run/secrets/{}/serviceaccount"
_COUNT = "count/"
_CLASS_QUOTA = ".storageclass.storage."
_NAMESPACES = ("system_namespace", "public_namespace", "node_lease_namespace")
_COMPONENTS = ("api_server", "controller_manager", "scheduler", "node_agent", "node_proxy")


class Names:
    """`groups` are the API's own, in the neutral spelling: others belong to their authors."""

    def __init__(self, old: Naming, new: Naming, groups: Iterable[str]) -> None:
        self.old = old
        self.new = new
        self._groups = {old.group(each): new.group(each) for each in groups}
        self._namespaces = self._fields(_NAMESPACES)
        self._components = self._fields(_COMPONENTS)
        self._flow_schemas = {
            **self._components,
            f"{old.system_namespace}-service-accounts": f"{new.system_namespace}-service-accounts",
        }
        self._dns = {old.component_prefix + "dns": new.component_prefix + "dns"}

    def known(self, name: str) -> str:
        """A name of the product's in the new spelling."""
        if self.old.vocabulary != "orch":
            return self.old.untranslated(name)
        renamed = self.new.translate(name)
        return renamed if self.new.untranslated(renamed) == name else name

    def group(self, group: str) -> str:
        """An API group; "*" and "" stay."""
        return self._groups.get(group, group)

    def api_version(self, api_version: str) -> str:
        """An apiVersion such as "v1" or "node.orch.io/v1"."""
        group, slash, version = api_version.rpartition("/")
        return f"{self._groups.get(group, group)}/{version}" if slash else api_version

    def namespace(self, name: str) -> str:
        """A namespace: only the system's have other names."""
        return self._namespaces.get(name, name)

    def component(self, name: str) -> str:
        """A component of the control plane, as a manager of fields, a source of events or the holder of a lock."""
        return self._components.get(name, name)

    def qualified(self, name: str) -> str:
        """A name with a domain: a key of labels, annotations or taints, a finalizer, a type of secrets, a signer."""
        return name if "/" not in name or name.startswith(_CLIENTS) else self.known(name)

    def namespace_finalizer(self, name: str) -> str:
        """A finalizer of a namespace's spec, of which one is the namespace controller's own."""
        return self.new.namespace_finalizer if name == self.old.namespace_finalizer else self.qualified(name)

    def system(self, name: str) -> str:
        """A user, group or role; only those that begin with "system:" can be the product's."""
        if not name.startswith(_SYSTEM) or name.startswith(_NODE):
            return name
        account = _ACCOUNTS.fullmatch(name)
        return self.known(name) if account is None else account[1] + self.namespace(account[2]) + account[3]

    def service(self, namespace: str, name: str) -> str:
        """A Service, or what bears its name, by the namespace's old name."""
        if namespace == self.old.default_namespace and name == self.old.product:
            return self.new.product
        return self._dns.get(name, name) if namespace == self.old.system_namespace else name

    def lock(self, namespace: str, name: str) -> str:
        """A Lease: the components elect their leaders by those in the system's namespace."""
        return self.component(name) if namespace == self.old.system_namespace else name

    def config_map(self, name: str) -> str:
        """A ConfigMap: the one that every namespace has."""
        return self.new.root_ca_config_map if name == self.old.root_ca_config_map else name

    def token_volume(self, name: str) -> str:
        """A volume of a pod: the one that brings its account's token begins with the product's name."""
        prefix = f"{self.old.component_prefix}api-access-"
        return f"{self.new.component_prefix}api-access-{name[len(prefix) :]}" if name.startswith(prefix) else name

    def token_path(self, path: str) -> str:
        """Where a volume is mounted: the account's token has a place by convention."""
        is_it = path == _TOKEN_PATH.format(self.old.label_domain)
        return _TOKEN_PATH.format(self.new.label_domain) if is_it else path

    def flow_schema(self, name: str) -> str:
        """A FlowSchema of the system's own."""
        return self._flow_schemas.get(name, name)

    def version_first(self, name: str) -> str:
        """Rename an APIService such as `v1.node.orch.io`."""
        version, dot, group = name.partition(".")
        return version + dot + self.group(group)

    def resource_last(self, name: str) -> str:
        """Rename a StorageVersion such as `node.orch.io.runtimeclasses`."""
        group, dot, resource = name.rpartition(".")
        return self.group(group) + dot + resource

    def resource_name(self, name: str) -> str:
        """Rename a resource of a quota or container: `count/ingresses.networking.orch.io`, `orch.io/batteries`."""
        if name.startswith(_COUNT):
            resource, dot, group = name.partition(".")
            return resource + dot + self.group(group)
        head, mark, rest = name.partition(_CLASS_QUOTA)
        return head + self.known(mark + rest) if mark else self.qualified(name)

    def object_of_rule(self, name: str) -> str:
        """A name that an RBAC rule is restricted to, of whatever resource."""
        if name in self._namespaces or name in self._components:
            return self.component(self.namespace(name))
        return self.config_map(self.qualified(self.system(name)))

    def field_path(self, path: str) -> str:
        """A path of the downward API, `metadata.labels['orch.io/os']`."""
        match = _SUBSCRIPT.fullmatch(path)
        return path if match is None else match[1] + self.qualified(match[2]) + match[3]

    def label_value(self, key: str, value: str) -> str:
        """The value of a label whose old `key` says that it is a name; any other value is the user's."""
        if key == self.old.namespace_name_label:
            return self.namespace(value)
        return self.known(value) if key == f"endpointslice.{self.old.label_domain}/managed-by" else value

    def _fields(self, names: Iterable[str]) -> Mapping[str, str]:
        return {getattr(self.old, name): getattr(self.new, name) for name in names}
