"""Operations, their names and their parameters (reference OPENAPI-10)."""

from __future__ import annotations

import re

from twisted.trial.unittest import SynchronousTestCase

from orchtw.schema.openapi.operations import DELETE_OPTIONS, PATCHES, STATUS, TEXT
from tests.schema.openapi.publishing import VOCABULARIES, operations, surface

# operation id, method, path, action: one of each shape.
SHAPES = """
getCoreAPIVersions                                 get    /api/                                    -
getCoreV1APIResources                              get    /api/v1/                                 -
getAPIVersions                                     get    /apis/                                   -
getAppsAPIGroup                                    get    /apis/apps/                              -
getAppsV1APIResources                              get    /apis/apps/v1/                           -
getCodeVersion                                     get    /version/                                -
listCoreV1NamespacedPod                            get    /api/v1/namespaces/{namespace}/pods      list
listCoreV1PodForAllNamespaces                      get    /api/v1/pods                             list
listCoreV1Node                                     get    /api/v1/nodes                            list
createCoreV1NamespacedPod                          post   /api/v1/namespaces/{namespace}/pods      post
createCoreV1Namespace                              post   /api/v1/namespaces                       post
readCoreV1NamespacedPod                            get    /api/v1/namespaces/{namespace}/pods/{name} get
replaceAppsV1NamespacedDeployment put /apis/apps/v1/namespaces/{namespace}/deployments/{name} put
patchAppsV1NamespacedDeployment patch /apis/apps/v1/namespaces/{namespace}/deployments/{name} patch
deleteCoreV1NamespacedPod                          delete /api/v1/namespaces/{namespace}/pods/{name} delete
deleteCoreV1CollectionNamespacedPod                delete /api/v1/namespaces/{namespace}/pods deletecollection
deleteCoreV1CollectionNode                         delete /api/v1/nodes                            deletecollection
watchCoreV1NamespacedPod        get /api/v1/watch/namespaces/{namespace}/pods/{name} watch
watchCoreV1NamespacedPodList    get /api/v1/watch/namespaces/{namespace}/pods        watchlist
watchCoreV1PodListForAllNamespaces                 get    /api/v1/watch/pods                       watchlist
watchCoreV1NodeList                                get    /api/v1/watch/nodes                      watchlist
replaceCoreV1NamespaceFinalize                     put    /api/v1/namespaces/{name}/finalize       put
readCoreV1NamespacedPodLog get /api/v1/namespaces/{namespace}/pods/{name}/log get
patchCoreV1NamespacedPodEphemeralcontainers patch /api/v1/namespaces/{namespace}/pods/{name}/ephemeralcontainers patch
readAppsV1NamespacedDeploymentScale get /apis/apps/v1/namespaces/{namespace}/deployments/{name}/scale get
createCoreV1NamespacedPodEviction post /api/v1/namespaces/{namespace}/pods/{name}/eviction post
createCoreV1NamespacedServiceAccountToken post /api/v1/namespaces/{namespace}/serviceaccounts/{name}/token post
connectCoreV1GetNamespacedPodExec get /api/v1/namespaces/{namespace}/pods/{name}/exec connect
connectCoreV1PostNamespacedPodPortforward post /api/v1/namespaces/{namespace}/pods/{name}/portforward connect
connectCoreV1PutNamespacedServiceProxyWithPath put /api/v1/namespaces/{namespace}/services/{name}/proxy/{path} connect
connectCoreV1HeadNodeProxy                         head   /api/v1/nodes/{name}/proxy               connect
"""
DOTTED = {
    "createRbacAuthorizationV1ClusterRole": ("rbac.authorization", "rbacAuthorization_v1"),
    "createFlowcontrolApiserverV1beta2FlowSchema": ("flowcontrol.apiserver", "flowcontrolApiserver_v1beta2"),
    "createStorageV1StorageClass": ("storage", "storage_v1"),
}


class ShapeTests(SynchronousTestCase):
    def test_shapes(self) -> None:
        """Operations have the ids, methods, paths and actions that generated clients are built from."""
        for line in SHAPES.split("\n")[1:-1]:
            id_, method, path, action = line.split()
            found = operations()[id_]
            self.assertEqual((found.method, found.path, found.action or "-"), (method, path, action), id_)

    def test_groups_with_dots(self) -> None:
        """The API's own domain is not part of ids and tags, under either vocabulary."""
        for vocabulary in VOCABULARIES:
            domain = surface(vocabulary)[0].naming.api_domain
            for id_, (group, tag) in DOTTED.items():
                found = operations(vocabulary)[id_]
                self.assertEqual(found.tag, tag)
                self.assertIn(f"/apis/{group}.{domain}/", found.path)

    def test_every_verb(self) -> None:
        """Each verb of each served resource and sub-resource has an operation on its path."""
        paths = {(operation.method, operation.path) for operation in operations().values()}
        methods = {"create": "post", "update": "put", "patch": "patch", "delete": "delete", "get": "get"}
        for resource in surface("orch")[1]:
            root = f"/apis/{resource.api_version}" if resource.group else f"/api/{resource.version}"
            scope = "/namespaces/{namespace}" if resource.namespaced else ""
            collection = f"{root}{scope}/{resource.plural}"
            for verb in resource.verbs:
                on_collection = verb in ("list", "create", "deletecollection", "watch")
                method = methods.get(verb, "delete" if verb == "deletecollection" else "get")
                self.assertIn((method, collection if on_collection else f"{collection}/{{name}}"), paths)
            for sub in resource.subresources:
                for verb in sub.verbs:
                    self.assertIn((methods[verb], f"{collection}/{{name}}/{sub.name}"), paths)

    def test_what_is_off_is_not_there(self) -> None:
        """A resource that is off by default has no operation."""
        self.assertEqual([each for each in operations() if "StorageVersion" in each], [])


class ParameterTests(SynchronousTestCase):
    def names(self, id_: str) -> set[str]:
        return {parameter.name for parameter in operations()[id_].parameters}

    def test_writes(self) -> None:
        """Writes take dryRun, fieldManager and fieldValidation, a patch also force (reference OPENAPI-13)."""
        written = {"pretty", "dryRun", "fieldManager", "fieldValidation", "namespace"}
        self.assertEqual(self.names("createCoreV1NamespacedPod"), written)
        self.assertEqual(self.names("replaceCoreV1NamespacedPod"), {*written, "name"})
        self.assertEqual(self.names("patchCoreV1NamespacedPod"), {*written, "name", "force"})

    def test_reads(self) -> None:
        """A read takes only what names the object; a list all list options (reference OPENAPI-14)."""
        self.assertEqual(self.names("readCoreV1Node"), {"name", "pretty"})
        self.assertEqual(
            self.names("listCoreV1Node"),
            {
                "pretty", "allowWatchBookmarks", "continue", "fieldSelector", "labelSelector", "limit",
                "resourceVersion", "resourceVersionMatch", "sendInitialEvents", "shardSelector", "timeoutSeconds",
                "watch",
            },
        )  # fmt: skip

    def test_deletes(self) -> None:
        """A deletion's options are parameters as well as its body (reference OPENAPI-14)."""
        found = operations()["deleteCoreV1Node"]
        self.assertEqual(
            self.names(found.id),
            {
                "name", "pretty", "dryRun", "gracePeriodSeconds", "ignoreStoreReadErrorWithClusterBreakingPotential",
                "orphanDependents", "propagationPolicy",
            },
        )  # fmt: skip
        self.assertEqual((found.body, found.required), (DELETE_OPTIONS, False))

    def test_options_kinds(self) -> None:
        """Connecting sub-resources and the log take their options as parameters (reference OPENAPI-14)."""
        self.assertEqual(
            self.names("connectCoreV1GetNamespacedPodExec"),
            {"name", "namespace", "stdin", "stdout", "stderr", "tty", "container", "command"},
        )
        self.assertLess({"container", "follow", "tailLines", "pretty"}, self.names("readCoreV1NamespacedPodLog"))

    def test_path_parameters(self) -> None:
        """Each name in braces is a path parameter of the operation, and the other way round."""
        for operation in operations().values():
            found = {each.name for each in operation.parameters if each.place == "path"}
            self.assertEqual(found, set(re.findall(r"{(\w+)}", operation.path)), operation.id)


class BodyTests(SynchronousTestCase):
    def test_patch(self) -> None:
        """A patch is sent in one of four forms (reference OPENAPI-14)."""
        self.assertEqual(operations()["patchCoreV1NamespacedPod"].consumes, PATCHES)

    def test_answers(self) -> None:
        """Codes and kinds of answers; a few resources answer a deletion with the object (reference DEL-9)."""
        config_map, pod = "orch.io.api.core.v1.ConfigMap", "orch.io.api.core.v1.Pod"
        every = operations()
        self.assertEqual(
            every["createCoreV1NamespacedConfigMap"].responses, dict.fromkeys((200, 201, 202), config_map)
        )
        self.assertEqual(every["readCoreV1NamespacedConfigMap"].responses, {200: config_map})
        self.assertEqual(every["deleteCoreV1NamespacedConfigMap"].responses, dict.fromkeys((200, 202), STATUS))
        self.assertEqual(every["deleteCoreV1NamespacedPod"].responses, dict.fromkeys((200, 202), pod))
        self.assertEqual(every["readCoreV1NamespacedPodLog"].responses, {200: TEXT})

    def test_streams(self) -> None:
        """Lists can be watched, so they also produce streams (reference OPENAPI-14)."""
        self.assertEqual(
            operations("kubernetes")["listCoreV1Node"].produces,
            (
                "application/json",
                "application/yaml",
                "application/vnd.kubernetes.protobuf",
                "application/json;stream=watch",
                "application/vnd.kubernetes.protobuf;stream=watch",
            ),
        )

    def test_foreign_kind(self) -> None:
        """A sub-resource's operations name and take its own kind."""
        scale = operations()["replaceAppsV1NamespacedDeploymentScale"]
        self.assertEqual(scale.kind, {"group": "autoscaling", "kind": "Scale", "version": "v1"})
        self.assertEqual(scale.body, "orch.io.api.autoscaling.v1.Scale")
