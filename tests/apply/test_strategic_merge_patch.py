"""Strategic merge patch: its directives, and a case for every list that merges (reference PATCH-14, PATCH-15)."""

from __future__ import annotations

import copy
from collections.abc import Iterator

from twisted.trial.unittest import SynchronousTestCase

from orchtw.apply.strategic_merge_patch import parse_strategic_patch, strategic_merge
from orchtw.errors import BadRequest
from orchtw.naming.naming import Naming
from orchtw.schema.catalogue import Catalogue
from orchtw.schema.codec.codecs import Codecs
from orchtw.schema.nodes import EitherSchema, Field, ListSchema, MapSchema, Node, Scalar, StructSchema
from orchtw.wire.objects import Object

_CATALOGUE = Catalogue.load(Naming.of("orch"))
_CODECS = Codecs(_CATALOGUE)

# The merge lists of reference PATCH-14: struct, key, merge key ("" for a list of strings).
EXPECTED = {
    ("ObjectMeta", "ownerReferences", "uid"),
    ("ObjectMeta", "finalizers", ""),
    ("NodeSpec", "podCIDRs", ""),
    ("NodeStatus", "addresses", "type"),
    ("PodSpec", "containers", "name"),
    ("PodSpec", "initContainers", "name"),
    ("PodSpec", "ephemeralContainers", "name"),
    ("PodSpec", "volumes", "name"),
    ("PodSpec", "imagePullSecrets", "name"),
    ("PodSpec", "hostAliases", "ip"),
    ("PodSpec", "topologySpreadConstraints", "topologyKey"),
    ("PodStatus", "podIPs", "ip"),
    *(
        (container, *rest)
        for container in ("Container", "EphemeralContainer")
        for rest in (
            ("ports", "containerPort"),
            ("env", "name"),
            ("volumeMounts", "mountPath"),
            ("volumeDevices", "devicePath"),
        )
    ),
    ("ServiceAccount", "secrets", "name"),
    ("ServiceSpec", "ports", "port"),
    ("CSINodeSpec", "drivers", "name"),
    ("MutatingWebhookConfiguration", "webhooks", "name"),
    ("ValidatingWebhookConfiguration", "webhooks", "name"),
    *(
        (f"{kind}Status", "conditions", "type")
        for kind in (
            *("Pod", "Node", "PersistentVolumeClaim", "Namespace", "ReplicationController", "Service", "Job"),
            *("Deployment", "DaemonSet", "ReplicaSet", "StatefulSet", "NetworkPolicy", "PodDisruptionBudget"),
        )
    ),
}


def structs() -> Iterator[StructSchema]:
    """Every struct of every served kind."""
    waiting = [_CODECS.schemas.struct(resource.message) for resource in _CATALOGUE.resources]
    seen: set[StructSchema] = set()
    while waiting:
        schema = waiting.pop()
        if schema not in seen:
            seen.add(schema)
            waiting.extend(filter(None, (struct_of(field.node) for field in schema.keys.values())))
            yield schema


def struct_of(node: Node) -> StructSchema | None:
    """The struct inside a list, a map or an alternative."""
    if isinstance(node, ListSchema):
        return struct_of(node.element)
    if isinstance(node, MapSchema):
        return struct_of(node.value)
    if isinstance(node, EitherSchema):
        return node.schema
    return node if isinstance(node, StructSchema) else None


def merge_lists() -> Iterator[tuple[StructSchema, Field]]:
    """Every list with strategy merge, and the struct that it stands in."""
    for schema in structs():
        for field in schema.keys.values():
            if isinstance(field.node, ListSchema) and "merge" in field.patch_strategies:
                yield schema, field


def pod(name: str) -> StructSchema:
    """A struct of the core group."""
    return _CODECS.schemas.struct(f"orch.io.api.core.v1.{name}")


DEPLOYMENT = _CODECS.schemas.struct("orch.io.api.apps.v1.Deployment")


class MergeListTests(SynchronousTestCase):
    """Every list that the schema says merges."""

    def test_complete(self) -> None:
        """All lists that the specification names merge by the key that it names (reference PATCH-14)."""
        found = {(s.name.rpartition(".")[2], f.name, f.patch_merge_key) for s, f in merge_lists()}
        self.assertEqual(EXPECTED - found, set())

    def test_elements(self) -> None:
        """Elements with a known key merge in place, new ones follow, deleted ones go, an order is kept."""
        count = 0
        for schema, field in merge_lists():
            if not field.patch_merge_key:
                continue
            count += 1
            node = field.node
            assert isinstance(node, ListSchema) and isinstance(node.element, StructSchema)
            integer = node.element.keys[field.patch_merge_key].node in (Scalar.INT32, Scalar.INT64)
            a, b, c = [{field.patch_merge_key: value} for value in ((1, 2, 3) if integer else "abc")]
            mark = {"mark": True}
            live = {field.name: [{**a, "kept": 1}, b]}
            for patch, result in (
                ([c, {**a, **mark}], [{**a, "kept": 1, **mark}, b, c]),
                ([{**a, "kept": None}], [a, b]),
                ([{**a, "$patch": "delete"}], [b]),
                ([{**c, "$patch": "delete"}], [{**a, "kept": 1}, b]),
                ([{**a, "$patch": "merge", **mark}], [{**a, "kept": 1, **mark}, b]),
                ([{"$patch": "replace"}, c], [c]),
                ([], [{**a, "kept": 1}, b]),
            ):
                self.assertEqual(strategic_merge(live, {field.name: patch}, schema), {field.name: result}, schema)
            ordered = {f"$setElementOrder/{field.name}": [c, b, a], field.name: [c]}
            self.assertEqual(strategic_merge(live, ordered, schema), {field.name: [c, b, {**a, "kept": 1}]})
            self.assertRaises(BadRequest, strategic_merge, live, {field.name: [mark]}, schema)
        self.assertGreater(count, 35)

    def test_primitives(self) -> None:
        """Lists of strings that merge become the union, in the order of first appearance; values can be deleted."""
        for schema, field in merge_lists():
            if field.patch_merge_key:
                continue
            name = field.name
            live = {name: ["a", "b"]}
            for patch, result in (
                ({name: ["c", "a"]}, ["a", "b", "c"]),
                ({f"$deleteFromPrimitiveList/{name}": ["a", "z"]}, ["b"]),
                ({f"$deleteFromPrimitiveList/{name}": ["a"], name: ["c"]}, ["b", "c"]),
                ({f"$setElementOrder/{name}": ["b", "a"]}, ["b", "a"]),
                ({f"$setElementOrder/{name}": ["c", "a"], name: ["c"]}, ["c", "a", "b"]),
            ):
                self.assertEqual(strategic_merge(live, patch, schema), {name: result}, schema)
            self.assertEqual(strategic_merge({}, {name: ["x"]}, schema), {name: ["x"]})
            self.assertEqual(strategic_merge({}, {f"$deleteFromPrimitiveList/{name}": ["x"]}, schema), {})


class MapTests(SynchronousTestCase):
    """Maps, structs and the lists that do not merge."""

    def merged(self, live: Object, patch: Object, schema: StructSchema) -> Object:
        """The result; neither argument is changed."""
        before = copy.deepcopy((live, patch))
        result = strategic_merge(live, patch, schema)
        self.assertEqual((live, patch), before)
        return result

    def test_plain(self) -> None:
        """Maps merge at every depth, null deletes, scalars replace, and other keys stay as they are."""
        live: Object = {"metadata": {"labels": {"a": "1", "b": "2"}}, "spec": {"replicas": 1, "template": {"x": 1}}}
        patch = {"metadata": {"labels": {"b": None, "c": "3"}, "annotations": {"n": None}}, "spec": {"replicas": 2}}
        result = self.merged(live, patch, DEPLOYMENT)
        self.assertEqual(
            result,
            {
                "metadata": {"labels": {"a": "1", "c": "3"}, "annotations": {}},
                "spec": {"replicas": 2, "template": {"x": 1}},
            },
        )
        self.assertIs(result["spec"]["template"], live["spec"]["template"])

    def test_other_lists_are_replaced(self) -> None:
        """A list without strategy merge is replaced as a whole (reference PATCH-13)."""
        live = {"tolerations": [{"key": "a"}], "containers": [{"name": "c", "args": ["1"]}]}
        patch = {"tolerations": [{"key": "b"}], "containers": [{"name": "c", "args": ["2"]}]}
        self.assertEqual(self.merged(live, patch, pod("PodSpec")), patch)

    def test_replaced_map(self) -> None:
        """The selector of a policy/v1 PodDisruptionBudget has strategy replace."""
        schema = _CODECS.schemas.struct("orch.io.api.policy.v1.PodDisruptionBudgetSpec")
        live = {"selector": {"matchLabels": {"a": "b"}}}
        self.assertEqual(self.merged(live, {"selector": {"x": 1, "y": None}}, schema), {"selector": {"x": 1}})

    def test_directives_in_maps(self) -> None:
        """`$patch` in a map replaces it by the rest, deletes it or says what happens anyway."""
        live = {"nodeSelector": {"a": "b"}, "hostNetwork": True}
        for directive, result in (
            ("replace", {"nodeSelector": {"c": "d"}, "hostNetwork": True}),
            ("merge", {"nodeSelector": {"a": "b", "c": "d"}, "hostNetwork": True}),
            ("delete", {"hostNetwork": True}),
        ):
            patch = {"nodeSelector": {"$patch": directive, "c": "d", "e": None}}
            self.assertEqual(self.merged(live, patch, pod("PodSpec")), result)
        self.assertEqual(self.merged(live, {"$patch": "replace", "hostPID": True}, pod("PodSpec")), {"hostPID": True})
        self.assertEqual(self.merged(live, {"$patch": "delete"}, pod("PodSpec")), {})

    def test_directives_below_new_parts(self) -> None:
        """Directives are followed, and never kept, where the live object has nothing to merge with."""
        patch = {
            "containers": [{"name": "c", "env": [{"name": "A", "$patch": "delete"}, {"name": "B", "value": None}]}],
            "securityContext": {"$patch": "replace", "fsGroup": 1},
        }
        result = {"containers": [{"name": "c", "env": [{"name": "B"}]}], "securityContext": {"fsGroup": 1}}
        self.assertEqual(self.merged({}, patch, pod("PodSpec")), result)

    def test_replaced_lists_lose_their_directive(self) -> None:
        """`$patch: replace` in a list that is replaced anyway leaves no element."""
        patch = {"tolerations": [{"key": "b"}, {"$patch": "replace"}]}
        self.assertEqual(self.merged({"tolerations": []}, patch, pod("PodSpec")), {"tolerations": [{"key": "b"}]})

    def test_retain_keys(self) -> None:
        """`$retainKeys` drops the live keys that it does not name: one volume source takes another's place."""
        live: Object = {"volumes": [{"name": "v", "emptyDir": {}}], "hostNetwork": True}
        patch: Object = {"volumes": [{"$retainKeys": ["name", "secret"], "name": "v", "secret": {"secretName": "s"}}]}
        result = {"volumes": [{"name": "v", "secret": {"secretName": "s"}}], "hostNetwork": True}
        self.assertEqual(self.merged(live, patch, pod("PodSpec")), result)
        live = {"spec": {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}}}
        patch = {"spec": {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}}
        self.assertEqual(self.merged(live, patch, DEPLOYMENT), {"spec": {"strategy": {"type": "Recreate"}}})

    def test_order(self) -> None:
        """`$setElementOrder` orders the elements that it names; the server's own keep their places among them."""
        live = {"containers": [{"name": name} for name in ("server1", "a", "server2", "b", "server3")]}
        for order, result in (
            ("a b", "server1 a server2 b server3"),
            ("b a", "server1 server2 b a server3"),
            ("a", "server1 a server2 b server3"),
            ("b new a", "server1 server2 b new a server3"),
            ("new a b", "new server1 a server2 b server3"),
        ):
            names = order.split()
            patch: Object = {"$setElementOrder/containers": [{"name": name} for name in names]}
            if "new" in names:
                patch["containers"] = [{"name": "new"}]
            merged = self.merged(live, patch, pod("PodSpec"))
            self.assertEqual(" ".join(item["name"] for item in merged["containers"]), result, order)

    def test_order_of_nothing(self) -> None:
        """An order for a list that is not there, or goes, changes nothing else."""
        order = {"$setElementOrder/containers": [{"name": "a"}]}
        self.assertEqual(self.merged({}, order, pod("PodSpec")), {})
        live = {"containers": [{"name": "a"}]}
        self.assertEqual(self.merged(live, {**order, "containers": None}, pod("PodSpec")), {})
        order = {"$setElementOrder/tolerations": [{"key": "a"}], "tolerations": [{"key": "b"}]}
        self.assertEqual(self.merged({}, order, pod("PodSpec")), {"tolerations": [{"key": "b"}]})

    def test_the_first_of_equal_keys_merges(self) -> None:
        """Of live elements with one key (a port for TCP and UDP) the first merges, all are deleted."""
        live = {"ports": [{"port": 53, "protocol": "TCP"}, {"port": 53, "protocol": "UDP"}]}
        result = self.merged(live, {"ports": [{"port": 53, "name": "dns"}]}, pod("ServiceSpec"))
        self.assertEqual(result["ports"], [{"port": 53, "protocol": "TCP", "name": "dns"}, live["ports"][1]])
        self.assertEqual(
            self.merged(live, {"ports": [{"port": 53, "$patch": "delete"}]}, pod("ServiceSpec")), {"ports": []}
        )

    def test_keys_with_a_dollar(self) -> None:
        """Only directives are taken out: a JSON schema has keys such as `$ref`."""
        schema = _CODECS.schemas.struct(
            "orch.io.apiextensions_apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps"
        )
        patch = {"properties": {"a": {"$ref": "x"}}, "items": {"type": "string"}, "default": {"a": [1]}}
        self.assertEqual(self.merged({"properties": {"b": {}}, "items": {"format": "f"}}, patch, schema), {
            "properties": {"b": {}, "a": {"$ref": "x"}},
            "items": {"format": "f", "type": "string"},
            "default": {"a": [1]},
        })


# Patch of a PodSpec with one container "c" and one volume, and the text of its refusal.
REFUSED: tuple[tuple[Object, str], ...] = (
    ({"containers": [{"image": "x"}]}, "map: map[image:x] does not contain declared merge key: name"),
    ({"containers": [{"$patch": "delete"}]}, "map: map[$patch:delete] does not contain declared merge key: name"),
    (
        {"containers": [{"$patch": "zap", "name": "c1"}]},
        "unknown patch type: zap in map: map[$patch:zap name:c1]",
    ),
    ({"nodeSelector": {"$patch": "zap"}}, "unknown patch type: zap in map: map[$patch:zap]"),
    ({"nodeSelector": {"$patch": None, "a": 1}, "containers": ["x"]}, "expected elements with merge key name, got x"),
    (
        {"containers": [{"name": {"a": None}}]},
        "map: map[name:map[a:<nil>]] does not contain declared merge key: name",
    ),
    (
        {"$setElementOrder/containers": [{"name": "a"}], "containers": [{"name": "b"}]},
        "The order in patch list:\n[map[name:b]]\n doesn't match $setElementOrder list:\n[map[name:a]]\n",
    ),
    (
        {
            "$setElementOrder/containers": [{"name": "a"}, {"name": "b"}],
            "containers": [{"name": "b"}, {"name": "a"}],
        },
        "The order in patch list:\n[map[name:b] map[name:a]]\n doesn't match $setElementOrder list:\n"
        "[map[name:a] map[name:b]]\n",
    ),
    ({"$setElementOrder/containers": {"name": "a"}}, "invalid patch format of setElementOrder list"),
    ({"$setElementOrder/containers": ["a"]}, "invalid patch format of setElementOrder list"),
    (
        {"$setElementOrder/containers": [{"name": "a"}], "containers": {"name": "a"}},
        "invalid patch format of setElementOrder list",
    ),
    ({"$deleteFromPrimitiveList/containers": [{"name": "c"}]}, "invalid patch format of primitive list"),
    ({"$deleteFromPrimitiveList/containers": ["c"]}, "invalid patch format of primitive list"),
    ({"$deleteFromPrimitiveList/containers": "c"}, "invalid patch format of primitive list"),
    ({"volumes": [{"name": "v", "$retainKeys": "name"}]}, "invalid patch format of retainKeys"),
    ({"volumes": [{"name": "v", "$retainKeys": [1]}]}, "invalid patch format of retainKeys"),
    (
        {"volumes": [{"name": "v", "emptyDir": {}, "$retainKeys": ["name"]}]},
        "patch content doesn't match retainKeys list",
    ),
)


class RefusalTests(SynchronousTestCase):
    """Patches that make no sense."""

    def test_texts(self) -> None:
        """Each is refused with 400 and the text of reference PATCH-17."""
        live = {"containers": [{"name": "c"}], "volumes": [{"name": "v"}]}
        for patch, text in REFUSED:
            error = self.assertRaises(BadRequest, strategic_merge, live, patch, pod("PodSpec"))
            self.assertEqual(error.message, text)

    def test_primitive_lists(self) -> None:
        """A list of strings merges with strings only."""
        schema = _CODECS.schemas.struct("orch.io.apimachinery.pkg.apis.meta.v1.ObjectMeta")
        patches: tuple[Object, ...] = ({"finalizers": [{"a": "b"}]}, {"$setElementOrder/finalizers": [{}]})
        for patch in patches:
            self.assertRaises(BadRequest, strategic_merge, {"finalizers": ["a"]}, patch, schema)

    def test_not_an_object(self) -> None:
        """A body other than a JSON object is refused with 400 (reference PATCH-17)."""
        for body in (b"", b"{", b"[]", b"null", b"1"):
            self.assertRaises(BadRequest, parse_strategic_patch, body)
