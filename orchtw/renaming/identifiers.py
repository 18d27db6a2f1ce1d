"""Translation of identifiers from one vocabulary to the other, by kind of identifier.

Each method returns unknown names unchanged and is undone by its counterpart for the way back: a name is translated
only if its translation leads back to it. Names that users chose therefore stay, even those that look like the
product's.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from orchtw.naming.naming import Naming

# Prefixes that clients use in one spelling with every server.
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
    """Translator from the vocabulary `old` to `new`.

    `groups` are the API's own groups, in neutral spelling; other groups belong to their authors and stay.
    """

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
        """Translate a name that contains one of the product's; others stay."""
        if self.old.vocabulary != "orch":
            return self.old.untranslated(name)
        renamed = self.new.translate(name)
        return renamed if self.new.untranslated(renamed) == name else name

    def group(self, group: str) -> str:
        """Translate an API group; "*" and "" stay."""
        return self._groups.get(group, group)

    def api_version(self, api_version: str) -> str:
        """Translate an apiVersion such as "v1" or "node.orch.io/v1"."""
        group, slash, version = api_version.rpartition("/")
        return f"{self._groups.get(group, group)}/{version}" if slash else api_version

    def namespace(self, name: str) -> str:
        """Translate a namespace; only the system namespaces change."""
        return self._namespaces.get(name, name)

    def component(self, name: str) -> str:
        """Translate a component, as it is named in field managers, event sources and Leases."""
        return self._components.get(name, name)

    def qualified(self, name: str) -> str:
        """Translate a qualified name: a key of a label, annotation or taint, a finalizer, Secret type or signer."""
        return name if "/" not in name or name.startswith(_CLIENTS) else self.known(name)

    def namespace_finalizer(self, name: str) -> str:
        """Translate a finalizer in a namespace's spec: the namespace controller's own, or a qualified name."""
        return self.new.namespace_finalizer if name == self.old.namespace_finalizer else self.qualified(name)

    def system(self, name: str) -> str:
        """Translate a user, group or role; only those that begin with "system:" can be the product's."""
        if not name.startswith(_SYSTEM) or name.startswith(_NODE):
            return name
        account = _ACCOUNTS.fullmatch(name)
        return self.known(name) if account is None else account[1] + self.namespace(account[2]) + account[3]

    def service(self, namespace: str, name: str) -> str:
        """Translate the name of a Service, or of an object named after one, in the old `namespace`."""
        if namespace == self.old.default_namespace and name == self.old.product:
            return self.new.product
        return self._dns.get(name, name) if namespace == self.old.system_namespace else name

    def lock(self, namespace: str, name: str) -> str:
        """Translate the name of a Lease in the old `namespace`; only those of leader election change."""
        return self.component(name) if namespace == self.old.system_namespace else name

    def config_map(self, name: str) -> str:
        """Translate the name of a ConfigMap: only that of the root CA, which every namespace has, changes."""
        return self.new.root_ca_config_map if name == self.old.root_ca_config_map else name

    def token_volume(self, name: str) -> str:
        """Translate the name of a pod's volume: only that of the service account token changes."""
        prefix = f"{self.old.component_prefix}api-access-"
        return f"{self.new.component_prefix}api-access-{name[len(prefix) :]}" if name.startswith(prefix) else name

    def token_path(self, path: str) -> str:
        """Translate a mount path: only the conventional one of the service account token changes."""
        is_it = path == _TOKEN_PATH.format(self.old.label_domain)
        return _TOKEN_PATH.format(self.new.label_domain) if is_it else path

    def flow_schema(self, name: str) -> str:
        """Translate the name of a FlowSchema; only the built-in ones change."""
        return self._flow_schemas.get(name, name)

    def version_first(self, name: str) -> str:
        """Translate the name of an APIService, such as `v1.node.orch.io`."""
        version, dot, group = name.partition(".")
        return version + dot + self.group(group)

    def resource_last(self, name: str) -> str:
        """Translate the name of a StorageVersion, such as `node.orch.io.runtimeclasses`."""
        group, dot, resource = name.rpartition(".")
        return self.group(group) + dot + resource

    def resource_name(self, name: str) -> str:
        """Translate a resource of quotas or containers: `count/ingresses.networking.orch.io`, `orch.io/batteries`."""
        if name.startswith(_COUNT):
            resource, dot, group = name.partition(".")
            return resource + dot + self.group(group)
        head, mark, rest = name.partition(_CLASS_QUOTA)
        return head + self.known(mark + rest) if mark else self.qualified(name)

    def object_of_rule(self, name: str) -> str:
        """Translate one of the `resourceNames` of an RBAC rule, which may be of any resource."""
        if name in self._namespaces or name in self._components:
            return self.component(self.namespace(name))
        return self.config_map(self.qualified(self.system(name)))

    def field_path(self, path: str) -> str:
        """Translate a downward API field path, such as `metadata.labels['orch.io/os']`."""
        match = _SUBSCRIPT.fullmatch(path)
        return path if match is None else match[1] + self.qualified(match[2]) + match[3]

    def label_value(self, key: str, value: str) -> str:
        """Translate the value of a label whose old `key` marks it as a name; other values are user data."""
        if key == self.old.namespace_name_label:
            return self.namespace(value)
        return self.known(value) if key == f"endpointslice.{self.old.label_domain}/managed-by" else value

    def _fields(self, names: Iterable[str]) -> Mapping[str, str]:
        return {getattr(self.old, name): getattr(self.new, name) for name in names}
