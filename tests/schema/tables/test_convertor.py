"""Tables (reference TABLE-1, TABLE-8)."""
# covers: orchtw.schema.tables.cells_cluster, orchtw.schema.tables.cells_core, orchtw.schema.tables.cells_pod
# covers: orchtw.schema.tables.cells_workloads, orchtw.schema.tables.cells

from __future__ import annotations

from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from orchtw.naming.naming import Naming
from orchtw.registry.strategies import KINDS
from orchtw.schema.catalogue import Catalogue, ResourceType
from orchtw.schema.codec.codecs import Codecs
from orchtw.schema.conversion.events import EVENT_CONVERSIONS
from orchtw.schema.declarations import Column
from orchtw.schema.kinds import GroupKind
from orchtw.schema.tables.cells import Cells, human_duration, selector, some
from orchtw.schema.tables.cells_core import component_status
from orchtw.schema.tables.convertor import TableLayout
from orchtw.wire.objects import Object

NAMING = Naming.orch()
NOW_S = 1704067200.0 + 3600  # an hour after the objects here were made
META = {"name": "x", "namespace": "default", "creationTimestamp": "2024-01-01T00:00:00Z"}
MINUTE, HOUR, DAY, YEAR = 60, 3600, 86400, 31536000


def cells_of(resource: ResourceType) -> Cells | None:
    """Return the cells of a kind; component statuses are not stored, so no record has them."""
    if resource.storage_group is None:
        return component_status
    return KINDS[GroupKind.of(resource.storage_group, resource.kind, NAMING)].cells


def layout_of(resource: ResourceType) -> TableLayout:
    return TableLayout(resource.columns, cells_of(resource), NAMING)


class HumanDurationTests(SynchronousTestCase):
    """Texts of `human_duration` at its steps."""

    def test_texts(self) -> None:
        """One or two units, as few as tell the story (reference TABLE-10)."""
        for seconds, text in [
            (-2, "<invalid>"),
            (-1, "0s"),
            (0, "0s"),
            (5.9, "5s"),
            (119, "119s"),
            (2 * MINUTE, "2m"),
            (6 * MINUTE + 24, "6m24s"),
            (10 * MINUTE + 59, "10m"),
            (179 * MINUTE, "179m"),
            (3 * HOUR, "3h"),
            (3 * HOUR + 25 * MINUTE, "3h25m"),
            (47 * HOUR, "47h"),
            (2 * DAY, "2d"),
            (2 * DAY + 3 * HOUR, "2d3h"),
            (12 * DAY + 5 * HOUR, "12d"),
            (729 * DAY, "729d"),
            (2 * YEAR, "2y"),
            (2 * YEAR + 35 * DAY, "2y35d"),
            (9 * YEAR, "9y"),
        ]:
            self.assertEqual(human_duration(seconds), text)


class TextTests(SynchronousTestCase):
    """Texts of lists and selectors."""

    def test_some(self) -> None:
        """Three are shown, the others counted."""
        self.assertEqual(some([]), "<none>")
        self.assertEqual(some(["a", "b", "c"]), "a,b,c")
        self.assertEqual(some(["a", "b", "c", "d", "e"]), "a,b,c + 2 more...")

    def test_selector(self) -> None:
        """A LabelSelector object shows in the query form."""
        self.assertEqual(selector(None), "<none>")
        self.assertEqual(selector({}), "<none>")
        expressions = [{"key": "a", "operator": "NotIn", "values": ["y", "x"]}, {"key": "c", "operator": "Exists"}]
        self.assertEqual(
            selector({"matchLabels": {"b": "1"}, "matchExpressions": expressions}), "a notin (x,y),b=1,c"
        )
        self.assertEqual(selector({"matchExpressions": [{"key": "a", "operator": "?"}]}), "<error>")


class LayoutTests(SynchronousTestCase):
    """Columns and cells of a `TableLayout`."""

    def layout(self) -> TableLayout:
        return TableLayout((), None, NAMING)

    role = {"kind": "Role", "apiVersion": "rbac.authorization.orch.io/v1", "metadata": META, "rules": None}

    def test_default(self) -> None:
        """A kind without columns shows its name and when it was made (reference TABLE-8)."""
        layout = self.layout()
        columns = [(column["name"], column["type"], column["format"]) for column in layout.definitions]
        self.assertEqual(columns, [("Name", "string", "name"), ("Created At", "date", "")])
        self.assertEqual(layout.row(self.role, NOW_S)["cells"], ["x", "2024-01-01T00:00:00Z"])

    def test_included_object(self) -> None:
        """A row carries metadata, the object as served, or null (reference TABLE-4)."""
        layout = self.layout()
        partial = {"kind": "PartialObjectMetadata", "apiVersion": "meta.orch.io/v1beta1", "metadata": META}
        self.assertEqual(layout.row(self.role, NOW_S, version="meta.orch.io/v1beta1")["object"], partial)
        self.assertEqual(layout.row(self.role, NOW_S, include="Object")["object"], self.role)
        other = {**self.role, "apiVersion": "other/v1"}
        self.assertEqual(layout.row(self.role, NOW_S, include="Object", served=other)["object"], other)
        self.assertIsNone(layout.row(self.role, NOW_S, include="None")["object"])

    def test_table(self) -> None:
        """A Table has its kind, metadata, columns and rows; columns can be left to an earlier event."""
        layout = self.layout()
        table = layout.table({"resourceVersion": "7"}, [layout.row(self.role, NOW_S)])
        self.assertEqual(list(table), ["kind", "apiVersion", "metadata", "columnDefinitions", "rows"])
        self.assertEqual((table["kind"], table["apiVersion"]), ("Table", "meta.orch.io/v1"))
        self.assertEqual(list(table["columnDefinitions"][0]), ["name", "type", "format", "description", "priority"])
        self.assertEqual(list(table["rows"][0]), ["cells", "object"])
        self.assertIsNone(layout.table({}, [], version="meta.orch.io/v1beta1", headed=False)["columnDefinitions"])

    def test_unknown_kind_with_columns(self) -> None:
        """Columns whose cells nobody knows fall back to the default ones."""
        column = Column(name="Other", type="string", format="", priority=0, cell="")
        self.assertEqual(len(TableLayout((column,), None, NAMING).definitions), 2)


class CellsTests(SynchronousTestCase):
    """The rows of the built-in kinds."""

    catalogue = Catalogue.load(NAMING)
    codecs = Codecs(catalogue)

    def resource(self, api_version: str, kind: str) -> ResourceType:
        for resource in self.catalogue.resources:
            if (resource.api_version, resource.kind) == (api_version, kind):
                return resource
        raise LookupError(kind)

    def cells(self, api_version: str, kind: str, **fields: Any) -> dict[str, Any]:
        """Column name → cell of an object with `fields`."""
        resource = self.resource(api_version, kind)
        layout = layout_of(resource)
        raw = {"kind": kind, "apiVersion": api_version, "metadata": META, **fields}
        row = layout.row(self.codecs.kind(api_version, kind).normalise(raw), NOW_S)
        names = [column["name"] for column in layout.definitions]
        return dict(zip(names, row["cells"], strict=True))

    def test_every_kind(self) -> None:
        """Each kind with columns has as many cells, even for an object that says nothing."""
        for resource in self.catalogue.resources:
            if not resource.columns:
                continue
            self.assertIsNotNone(cells_of(resource), resource.kind)
            codec = self.codecs.kind(resource.api_version, resource.kind)
            obj = codec.normalise({"kind": resource.kind, "apiVersion": resource.api_version, "metadata": META})
            if resource.kind == "Event":
                obj = EVENT_CONVERSIONS.converter(resource.api_version, "v1", naming=NAMING)(obj)
            layout = layout_of(resource)
            self.assertEqual(len(layout.row(obj, NOW_S)["cells"]), len(layout.definitions), resource.kind)

    def pod(self, **status: Any) -> dict[str, Any]:
        spec = {"containers": [{"name": "a"}, {"name": "b"}], "initContainers": [{"name": "i"}], "nodeName": "n"}
        return self.cells("v1", "Pod", spec=spec, status=status)

    def test_pod(self) -> None:
        """A pod's status tells where its containers are (reference TABLE-11)."""
        running = {"name": "a", "ready": True, "restartCount": 1, "state": {"running": {}}}
        ended = {"name": "b", "restartCount": 2, "state": {"terminated": {"exitCode": 0, "reason": "Completed"}}}
        cells = self.pod(phase="Running", containerStatuses=[running, running], podIPs=[{"ip": "10.0.0.1"}])
        self.assertEqual(
            cells,
            {
                "Name": "x",
                "Ready": "2/2",
                "Status": "Running",
                "Restarts": "2",
                "Age": "60m",
                "IP": "10.0.0.1",
                "Node": "n",
                "Nominated Node": "<none>",
                "Readiness Gates": "<none>",
            },
        )
        cases: list[tuple[Object, str]] = [
            ({"phase": "Pending"}, "Pending"),
            ({"phase": "Failed", "reason": "Evicted"}, "Evicted"),
            ({"containerStatuses": [ended]}, "Completed"),
            ({"containerStatuses": [running, ended]}, "NotReady"),
            (
                {"containerStatuses": [running, ended], "conditions": [{"type": "Ready", "status": "True"}]},
                "Running",
            ),
            (
                {"containerStatuses": [{"name": "a", "state": {"waiting": {"reason": "CrashLoopBackOff"}}}]},
                "CrashLoopBackOff",
            ),
            ({"containerStatuses": [{"name": "a", "state": {"terminated": {"exitCode": 3}}}]}, "ExitCode:3"),
            (
                {"containerStatuses": [{"name": "a", "state": {"terminated": {"signal": 9, "exitCode": 1}}}]},
                "Signal:9",
            ),
            ({"initContainerStatuses": [{"name": "i", "state": {"running": {}}}]}, "Init:0/1"),
            ({"initContainerStatuses": [{"name": "i", "state": {"terminated": {"exitCode": 2}}}]}, "Init:ExitCode:2"),
            (
                {"initContainerStatuses": [{"name": "i", "state": {"waiting": {"reason": "PodInitializing"}}}]},
                "Init:0/1",
            ),
            ({"initContainerStatuses": [{"name": "i", "state": {"waiting": {"reason": "Bad"}}}]}, "Init:Bad"),
            (
                {
                    "phase": "Running",
                    "initContainerStatuses": [{"name": "i", "state": {"terminated": {"exitCode": 0}}}],
                },
                "Running",
            ),
        ]
        for status, text in cases:
            self.assertEqual(self.pod(**status)["Status"], text)

    def test_sidecars(self) -> None:
        """Sidecars that have started do not hold up the rest, and count among the containers (reference TABLE-11)."""
        sidecar = {"name": "s", "restartPolicy": "Always"}
        spec = {"containers": [{"name": "a"}], "initContainers": [sidecar, {"name": "i"}]}
        up = {"name": "s", "ready": True, "started": True, "restartCount": 2, "state": {"running": {}}}
        done: Any = {"name": "i", "restartCount": 3, "state": {"terminated": {"exitCode": 0}}}
        main = {"name": "a", "ready": True, "restartCount": 1, "state": {"running": {}}}
        initialized = [{"type": "Initialized", "status": "True"}]
        for first, second, more, expected in (
            ({**up, "started": False}, {"name": "i"}, {}, ("0/2", "Init:0/2", "2")),
            (up, {"name": "i", "state": {"running": {}}}, {}, ("1/2", "Init:1/2", "2")),
            (up, done, {}, ("2/2", "Running", "3")),
            ({**up, "ready": False}, done, {}, ("1/2", "Running", "3")),
            ({**up, "started": False}, done, {"conditions": initialized}, ("1/2", "Init:0/2", "3")),
            ({"name": "s", "ready": True, "state": done["state"]}, done, {}, ("1/2", "Running", "1")),
        ):
            status = {"phase": "Running", "initContainerStatuses": [first, second], "containerStatuses": [main]}
            status |= more
            cells = self.cells("v1", "Pod", spec=spec, status=status)
            self.assertEqual((cells["Ready"], cells["Status"], cells["Restarts"]), expected, status)

    def test_gated_pod(self) -> None:
        """A pod that scheduling gates hold back says so (reference TABLE-11)."""
        condition = {"type": "PodScheduled", "status": "False", "reason": "SchedulingGated"}
        self.assertEqual(self.pod(phase="Pending", conditions=[condition])["Status"], "SchedulingGated")

    def test_ending_pod(self) -> None:
        """A pod under deletion is terminating, or unknown once its node is lost (reference TABLE-11)."""
        meta = {"name": "x", "deletionTimestamp": "2024-01-01T00:00:00Z"}
        for reason, text in (("", "Terminating"), ("NodeLost", "Unknown")):
            cells = self.cells("v1", "Pod", metadata=meta, spec={"containers": []}, status={"reason": reason})
            self.assertEqual(cells["Status"], text)

    def test_pod_restarts(self) -> None:
        """The newest end of a container is shown beside the number of restarts."""
        last = {"terminated": {"exitCode": 1, "finishedAt": "2024-01-01T00:55:00Z"}}
        cells = self.pod(containerStatuses=[{"name": "a", "restartCount": 3, "lastState": last}])
        self.assertEqual(cells["Restarts"], "3 (5m ago)")

    def test_pod_conditions(self) -> None:
        """The row of a pod that has ended says so in its conditions."""
        resource = self.resource("v1", "Pod")
        pod = {"kind": "Pod", "apiVersion": "v1", "metadata": META, "spec": {}, "status": {"phase": "Succeeded"}}
        row = layout_of(resource).row(pod, NOW_S)
        self.assertEqual((row["conditions"][0]["type"], row["conditions"][0]["reason"]), ("Completed", "Succeeded"))
        self.assertEqual(list(row), ["cells", "conditions", "object"])

    def test_deployment(self) -> None:
        """Ready replicas stand beside the wanted ones."""
        template = {"spec": {"containers": [{"name": "a", "image": "i:1"}, {"name": "b", "image": "j"}]}}
        spec = {"replicas": 3, "selector": {"matchLabels": {"app": "x"}}, "template": template}
        cells = self.cells("apps/v1", "Deployment", spec=spec, status={"readyReplicas": 2, "updatedReplicas": 3})
        self.assertEqual(list(cells.values()), ["x", "2/3", 3, 0, "60m", "a,b", "i:1,j", "app=x"])

    def test_service(self) -> None:
        """External addresses depend on the type (reference TABLE-12)."""
        ports = [{"port": 80, "protocol": "TCP", "nodePort": 30001}, {"port": 53, "protocol": "UDP"}]
        balancer = {"loadBalancer": {"ingress": [{"hostname": "lb"}, {"ip": "1.2.3.4"}]}}
        cases: list[tuple[Object, Object, str]] = [
            ({"type": "ClusterIP"}, {}, "<none>"),
            ({"type": "NodePort", "externalIPs": ["1.1.1.1"]}, {}, "1.1.1.1"),
            ({"type": "LoadBalancer"}, {}, "<pending>"),
            ({"type": "LoadBalancer", "externalIPs": ["1.1.1.1"]}, balancer, "1.2.3.4,lb,1.1.1.1"),
            ({"type": "ExternalName", "externalName": "ex.io"}, {}, "ex.io"),
        ]
        for spec, status, external in cases:
            cells = self.cells("v1", "Service", spec={**spec, "ports": ports}, status=status)
            self.assertEqual(cells["External-IP"], external)
            self.assertEqual(cells["Port(s)"], "80:30001/TCP,53/UDP")

    def test_node(self) -> None:
        """A node's roles come from its labels."""
        meta = {**META, "labels": {"node-role.orch.io/worker": "", "orch.io/role": "edge", "node-role.orch.io/": ""}}
        status = {"conditions": [{"type": "Ready", "status": "True"}], "nodeInfo": {"orchletVersion": "v1.24.0"}}
        cells = self.cells("v1", "Node", metadata=meta, spec={"unschedulable": True}, status=status)
        self.assertEqual(cells["Roles"], "edge,worker")
        self.assertEqual(cells["Status"], "Ready,SchedulingDisabled")
        self.assertEqual(cells["Version"], "v1.24.0")

    def test_job(self) -> None:
        """Completions and duration count up to the end."""
        status = {"succeeded": 1, "startTime": "2024-01-01T00:00:00Z", "completionTime": "2024-01-01T00:01:05Z"}
        cells = self.cells("batch/v1", "Job", spec={"parallelism": 2}, status=status)
        self.assertEqual((cells["Completions"], cells["Duration"]), ("1/1 of 2", "65s"))
        self.assertEqual(self.cells("batch/v1", "Job", spec={"completions": 4}, status={})["Completions"], "0/4")

    def test_autoscaler(self) -> None:
        """Targets show current and wanted values, also of the stored v1 form."""
        spec = {"maxReplicas": 3, "scaleTargetRef": {"kind": "D", "name": "d"}, "targetCPUUtilizationPercentage": 50}
        status = {"currentCPUUtilizationPercentage": 40}
        cells = self.cells("autoscaling/v1", "HorizontalPodAutoscaler", spec=spec, status=status)
        self.assertEqual((cells["Reference"], cells["Targets"]), ("D/d", "40%/50%"))
        metrics = [
            {"type": "External", "external": {"metric": {"name": "m"}, "target": {"type": "V", "averageValue": "5"}}},
            {"type": "Pods", "pods": {"metric": {"name": "m"}, "target": {"type": "V", "averageValue": "6"}}},
            {"type": "Object", "object": {"metric": {"name": "m"}, "target": {"type": "V", "value": "7"}}},
        ]
        cells = self.cells("autoscaling/v2", "HorizontalPodAutoscaler", spec={"maxReplicas": 3, "metrics": metrics})
        self.assertEqual(cells["Targets"], "<unknown>/5 (avg), <unknown>/6 + 1 more...")

    def test_event(self) -> None:
        """An event counts and dates its series."""
        cells = self.cells(
            "v1",
            "Event",
            involvedObject={"kind": "Pod", "name": "p"},
            source={"component": "c", "host": "h"},
            message=" text\n",
            firstTimestamp="2024-01-01T00:00:00Z",
            lastTimestamp="2024-01-01T00:58:00Z",
            count=4,
        )
        self.assertEqual(cells["Last Seen"], "2m")
        self.assertEqual((cells["Object"], cells["Source"], cells["Message"]), ("pod/p", "c, h", "text"))
        self.assertEqual((cells["First Seen"], cells["Count"]), ("60m", 4))

    def test_storage_class(self) -> None:
        """The default class is marked beside its name."""
        meta = {**META, "annotations": {"storageclass.orch.io/is-default-class": "true"}}
        self.assertEqual(self.cells("storage.orch.io/v1", "StorageClass", metadata=meta)["Name"], "x (default)")

    def test_bindings(self) -> None:
        """Subjects are listed by kind."""
        subjects = [
            {"kind": "User", "name": "u"},
            {"kind": "Group", "name": "g"},
            {"kind": "ServiceAccount", "name": "s", "namespace": "n"},
        ]
        role = {"kind": "ClusterRole", "name": "r", "apiGroup": "rbac.authorization.orch.io"}
        cells = self.cells("rbac.authorization.orch.io/v1", "ClusterRoleBinding", subjects=subjects, roleRef=role)
        self.assertEqual(list(cells.values()), ["x", "ClusterRole/r", "60m", "u", "g", "n/s"])
