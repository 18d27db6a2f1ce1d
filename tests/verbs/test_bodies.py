"""Bodies of writes and metadata of objects, as clients see them accepted, refused and answered."""

from __future__ import annotations

from typing import Any

from orchtw.wire.objects import Object
from tests.verbs.objects import config_map
from tests.verbs.served import APPLY, DEFAULT, MERGE, ServedCase

NAMESPACES = "/api/v1/namespaces"
LEASES = "/apis/coordination.orch.io/v1/namespaces"
YAML = {"content-type": "application/yaml"}
STRATEGIC = {"content-type": "application/strategic-merge-patch+json"}
JSON_PATCH = {"content-type": "application/json-patch+json"}
NOWHERE = "the server could not find the requested resource"
LABEL = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end "
    "with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)
DNS_1035 = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, "
    "and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is "
    "'[a-z]([-a-z0-9]*[a-z0-9])?')"
)


def service(name: str) -> Object:
    return {"metadata": {"name": name}, "spec": {"ports": [{"port": 80}]}}


class BodyCase(ServedCase):
    """A server, and requests that must be refused."""

    def refused(
        self, code: int, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None
    ) -> str:
        """The message of a request that is answered with this code."""
        answer = self.send(method, path, body, headers)
        self.assertEqual((answer.code, answer.json["kind"]), (code, "Status"), f"{method} {path}: {answer.body!r}")
        message: str = answer.json["message"]
        return message


class SubresourceTests(BodyCase):
    def test_missing(self) -> None:
        """A sub-resource that the kind lacks is a 404 to every method, object or not (reference WRITE-13)."""
        for create in (True, False):
            for path in ("configmaps/x/status", "configmaps/x/scale", "configmaps/x/foo", "pods/x/scale"):
                for method in ("GET", "POST", "PUT", "PATCH", "DELETE"):
                    headers = MERGE if method == "PATCH" else {}
                    self.assertEqual(self.refused(404, method, path, config_map(), headers), NOWHERE)
            if create:
                self.done("POST", "configmaps", config_map())


class PlaceTests(BodyCase):
    """Names and namespaces of bodies (reference WRITE-14, ERR-16, ERR-17)."""

    def setUp(self) -> None:
        super().setUp()
        self.made = self.done("POST", "configmaps", config_map())

    def test_another_name(self) -> None:
        """A name that is not the URL's is a 400, whether there is an object or not (reference WRITE-14, ERR-16)."""
        text = "the name of the object (b) does not match the name on the URL ({})"
        for name in ("x", "missing"):
            self.assertEqual(self.refused(400, "PUT", f"configmaps/{name}", config_map("b")), text.format(name))
            applied = self.refused(400, "PATCH", f"configmaps/{name}?fieldManager=me", config_map("b"), APPLY)
            self.assertEqual(applied, text.format(name))
        for headers in (MERGE, STRATEGIC):
            patch = {"metadata": {"name": "b"}}
            self.assertEqual(self.refused(400, "PATCH", "configmaps/x", patch, headers), text.format("x"))
        text = "the name of the object (x based on URL) was undeterminable: name must be provided"
        self.assertEqual(self.refused(400, "PUT", "configmaps/x", {"metadata": {}}), text)
        self.assertEqual(self.refused(400, "PATCH", "configmaps/x", {"metadata": {"name": None}}, MERGE), text)
        self.assertEqual(self.done("GET", "configmaps/x"), self.made)

    def test_another_namespace(self) -> None:
        """A namespace that is not the URL's is a 400 (reference WRITE-14, ERR-17)."""
        body = config_map(namespace="other")
        text = "the namespace of the provided object does not match the namespace sent on the request"
        self.assertEqual(self.refused(400, "POST", "configmaps", config_map("y", namespace="other")), text)
        text = "the namespace of the object (other) does not match the namespace on the request (default)"
        self.assertEqual(self.refused(400, "PUT", "configmaps/x", body), text)
        patch = {"metadata": {"namespace": "other"}}
        self.assertEqual(self.refused(400, "PATCH", "configmaps/x", patch, MERGE), text)
        self.assertEqual(self.refused(400, "PATCH", "configmaps/x?fieldManager=me", body, APPLY), text)
        self.assertEqual(self.done("GET", "configmaps/x"), self.made)

    def test_missing_namespace(self) -> None:
        """To create in a namespace that is not there is a 404 of the namespace (reference ERR-20, DEL-19)."""
        lease = {"metadata": {"name": "x"}}
        for method, path, body, headers in (
            ("POST", f"{NAMESPACES}/nope/configmaps", config_map(), {}),
            ("POST", f"{NAMESPACES}/nope/configmaps?dryRun=All", config_map(), {}),
            ("PATCH", f"{NAMESPACES}/nope/configmaps/x?fieldManager=me", config_map(), APPLY),
            ("PUT", f"{LEASES}/nope/leases/x", lease, {}),
        ):
            answer = self.send(method, path, body, headers)
            found = answer.code, answer.json["reason"], answer.json["message"], answer.json["details"]
            details = {"name": "nope", "kind": "namespaces"}
            self.assertEqual(found, (404, "NotFound", 'namespaces "nope" not found', details), path)


class WrongBodyTests(BodyCase):
    """Bodies that cannot be read (reference WRITE-25)."""

    def test_any_directive(self) -> None:
        """Wrong types and broken bodies are a 400 whatever the directive; of a patched object a 422 (WRITE-25)."""
        self.done("POST", "configmaps", config_map())
        wrong = {**config_map(), "data": {"key": 1}}
        broken = "the object provided is unrecognized (must be of type ConfigMap): couldn't get version/kind; "
        typed = 'ConfigMap in version "v1" cannot be handled as a ConfigMap: data[key]: '
        for directive in ("", "?fieldValidation=Ignore", "?fieldValidation=Warn", "?fieldValidation=Strict"):
            own, applied = f"configmaps/x{directive}", f"configmaps/x{directive or '?'}&fieldManager=me"
            for code, method, path, body, headers, text in (
                (400, "POST", f"configmaps{directive}", wrong, {}, typed),
                (400, "POST", f"configmaps{directive}", b"metadata: {name: z}\ndata: {key: 1}", YAML, typed),
                (400, "POST", f"configmaps{directive}", b'{"metadata":', {}, f"{broken}json parse error: "),
                (400, "POST", f"configmaps{directive}", b"a: b: c", YAML, f"{broken}yaml parse error: "),
                (400, "POST", f"configmaps{directive}", b"", {}, f"{broken}json parse error: "),
                (400, "PUT", own, wrong, {}, typed),
                (400, "PUT", own, b"[", {}, f"{broken}json parse error: "),
                (400, "PATCH", own, b"[", MERGE, ""),
                (400, "PATCH", own, b"{}", JSON_PATCH, ""),
                (400, "PATCH", applied, b"{", APPLY, "error decoding YAML: "),
                (400, "PATCH", applied, wrong, APPLY, "failed to create typed patch object "),
                (422, "PATCH", own, {"data": {"key": 1}}, MERGE, ' "" is invalid: patch: Invalid value: '),
            ):
                message = self.refused(code, method, path, body, headers)
                self.assertTrue(message.startswith(text), message)

    def test_media_types(self) -> None:
        """An Accept without a form that is served is a 406, a body of another form a 415 (reference ENC-4)."""
        for path in ("configmaps", "configmaps/x", "/apis", "/openapi/v2"):
            self.assertEqual(self.code("GET", path, None, {"accept": "text/html, image/*"}), 406, path)
        for method, path in (("POST", "configmaps"), ("PUT", "configmaps/x"), ("DELETE", "configmaps/x")):
            self.assertEqual(self.code(method, path, b"<a/>", {"content-type": "text/xml"}), 415, method)
        self.assertEqual(self.code("PATCH", "configmaps/x", b"{}", {"content-type": "application/json"}), 415)


class MetadataTests(BodyCase):
    """Metadata that clients send and are given."""

    def test_version_on_create(self) -> None:
        """A new object has no version yet; `0` counts as none (reference OBJ-7, WRITE-8)."""
        text = "resourceVersion should not be set on objects to be created"
        self.assertEqual(self.refused(400, "POST", "configmaps", config_map(resourceVersion="5")), text)
        for number, version in enumerate(("", "0", None)):
            self.done("POST", "configmaps", config_map(f"a{number}", resourceVersion=version))
        live = self.done("GET", "configmaps/a0")
        self.assertEqual(self.code("PUT", "configmaps/a0", {**live, "data": {"key": "new"}}), 200)
        self.assertEqual(self.code("PUT", "configmaps/a0", {**live, "data": {"key": "newer"}}), 409)

    def test_labels_and_annotations(self) -> None:
        """Labels and annotations are text by text, under the rules of their names (reference OBJ-12)."""
        for field in ("labels", "annotations"):
            message = self.refused(400, "POST", "configmaps", config_map(**{field: {"a": 1}}))
            self.assertIn(f"metadata.{field}[a]: expected a string", message)
            message = self.refused(422, "POST", "configmaps", config_map(**{field: {"a b": ""}}))
            self.assertIn(f'metadata.{field}: Invalid value: "a b": name part must consist of', message)
        message = self.refused(422, "POST", "configmaps", config_map(labels={"a": "b c"}))
        self.assertIn('metadata.labels: Invalid value: "b c": a valid label must be', message)
        self.done("POST", "configmaps", config_map(annotations={"a": "b c"}))

    def test_managed_fields(self) -> None:
        """managedFields are what the server makes of them, whatever a client sends (reference OBJ-12)."""
        sent = [{"manager": "else", "operation": "Update", "apiVersion": "v9", "fieldsType": "x"}]
        made = self.done("POST", "configmaps?fieldManager=me", config_map(managedFields=sent))
        self.assertEqual([each["manager"] for each in made["metadata"]["managedFields"]], ["me"])

    def test_entries_removed(self) -> None:
        """An update that only takes a manager's entries away is a change (reference WRITE-16)."""
        self.done("POST", "configmaps?fieldManager=first", config_map())
        before = self.done("PATCH", "configmaps/x?fieldManager=second", {"data": {"more": ""}}, MERGE)
        owners = [each for each in before["metadata"]["managedFields"] if each["manager"] == "first"]
        fewer = {**before, "metadata": {**before["metadata"], "managedFields": owners}}
        after = self.done("PUT", "configmaps/x", fewer)
        self.assertEqual(after["metadata"]["managedFields"], owners)
        self.assertGreater(int(after["metadata"]["resourceVersion"]), int(before["metadata"]["resourceVersion"]))
        self.assertEqual(self.done("GET", "configmaps/x"), after)

    def test_list(self) -> None:
        """A list has a version, and as a chunk a token and the number of what is left (reference OBJ-13)."""
        self.assertEqual(self.done("GET", "configmaps")["metadata"].keys(), {"resourceVersion"})
        for name in "abc":
            self.done("POST", "configmaps", config_map(name))
        meta = self.done("GET", "configmaps?limit=1")["metadata"]
        self.assertEqual(meta.keys(), {"resourceVersion", "continue", "remainingItemCount"})
        self.assertEqual(meta["remainingItemCount"], 2)


class NameTests(BodyCase):
    """Names that are labels."""

    def test_namespaces(self) -> None:
        """A Namespace's name is an RFC 1123 label of 63 characters (reference OBJ-21)."""
        for name in ("a", "0", "0-a", "a" * 63):
            self.done("POST", f"{NAMESPACES}?dryRun=All", {"metadata": {"name": name}})
        for name in ("A", "a.b", "-a", "a-", "a_b"):
            message = self.refused(422, "POST", NAMESPACES, {"metadata": {"name": name}})
            self.assertIn(f'metadata.name: Invalid value: "{name}": {LABEL}', message)
        message = self.refused(422, "POST", NAMESPACES, {"metadata": {"name": "a" * 64}})
        self.assertIn(f'metadata.name: Invalid value: "{"a" * 64}": must be no more than 63 characters', message)

    def test_services(self) -> None:
        """A Service's name is a DNS-1035 label of 63 characters, which begins with a letter (reference OBJ-22)."""
        for name in ("a", "a-0", "a" * 63):
            self.done("POST", "services?dryRun=All", service(name))
        for name in ("0a", "A", "a.b", "-a", "a-"):
            message = self.refused(422, "POST", "services", service(name))
            self.assertIn(f'metadata.name: Invalid value: "{name}": {DNS_1035}', message)
        message = self.refused(422, "POST", "services", service("a" * 64))
        self.assertIn(f'metadata.name: Invalid value: "{"a" * 64}": must be no more than 63 characters', message)


class VersionTests(BodyCase):
    """Versions of objects and lists (reference READ-1, READ-2)."""

    def test_one_counter(self) -> None:
        """Each write of any kind raises one counter; reads, dry runs and no-ops do not (reference READ-1)."""
        begun = self.store.now
        writes = [
            self.done("POST", "configmaps", config_map()),
            self.done("POST", f"{NAMESPACES}", {"metadata": {"name": "other"}}),
            self.done("PATCH", "configmaps/x", {"data": {"key": "new"}}, MERGE),
            self.done("POST", "secrets", {"metadata": {"name": "s"}}),
        ]
        expected = [str(begun + 1 + number) for number in range(4)]
        self.assertEqual([each["metadata"]["resourceVersion"] for each in writes], expected)
        self.done("GET", "configmaps/x")
        self.done("POST", "configmaps?dryRun=All", config_map("y"))
        self.done("PATCH", "configmaps/x", {"data": {"key": "new"}}, MERGE)
        self.assertEqual(self.store.now, begun + 4)
        self.done("DELETE", "secrets/s")
        self.assertEqual(self.store.now, begun + 5)

    def test_of_lists(self) -> None:
        """A list's version is that of the moment, not below any item's, which is that of its last write (READ-2)."""
        first = self.done("POST", "configmaps", config_map("a"))["metadata"]["resourceVersion"]
        self.done("POST", "configmaps", config_map("b"))
        second = self.done("PATCH", "configmaps/b", {"data": {}, "metadata": {"labels": {"a": "b"}}}, MERGE)
        self.done("POST", "secrets", {"metadata": {"name": "s"}})
        found = self.done("GET", "configmaps")
        versions = [each["metadata"]["resourceVersion"] for each in found["items"]]
        self.assertEqual(versions, [first, second["metadata"]["resourceVersion"]])
        self.assertEqual(found["metadata"]["resourceVersion"], str(self.store.now))

    def test_largest_limit(self) -> None:
        """A limit may be as large as its 64 bits (reference READ-17, LIMIT-5)."""
        self.assertEqual(len(self.done("GET", f"{NAMESPACES}?limit={2**63 - 1}")["items"]), 4)
        self.refused(400, "GET", f"{NAMESPACES}?limit={2**63}")


class KindTests(BodyCase):
    """Offered kinds and versions."""

    def test_no_collections(self) -> None:
        """Namespaces, component statuses and reviews are not deleted as collections (reference DEL-13, ERR-19)."""
        access = "/apis/authorization.orch.io/v1"
        for path in (
            NAMESPACES,
            "/api/v1/componentstatuses",
            f"{access}/selfsubjectaccessreviews",
            f"{access}/selfsubjectrulesreviews",
            f"{access}/subjectaccessreviews",
            f"{access}/namespaces/default/localsubjectaccessreviews",
            "/apis/authentication.orch.io/v1/tokenreviews",
        ):
            message = self.refused(405, "DELETE", path)
            self.assertEqual(message, "the server does not allow this method on the requested resource")
            answer = self.send("DELETE", path)
            self.assertEqual((answer.json["reason"], answer.json["details"]), ("MethodNotAllowed", {}))
            self.assertNotIn("allow", answer.headers)

    def test_deprecated_fields(self) -> None:
        """Deprecated and doubtful fields of pods and templates are warned about with their paths (ERR-54)."""
        container = {
            "name": "c", "image": "i", "env": [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}],
            "resources": {"limits": {"memory": "100m"}},
        }  # fmt: skip
        spec = {
            "nodeSelector": {"beta.orch.io/os": "linux"}, "containers": [container],
            "hostAliases": [{"ip": "10.0.0.1", "hostnames": ["a"]}, {"ip": "10.0.0.1", "hostnames": ["b"]}],
            "imagePullSecrets": [{"name": "a"}, {"name": "a"}],
            "volumes": [{"name": "v", "gitRepo": {"repository": "x"}}],
        }  # fmt: skip
        meta = {"annotations": {"scheduler.alpha.orch.io/critical-pod": ""}, "labels": {"a": "b"}}
        texts = (
            'spec.nodeSelector[beta.orch.io/os]: deprecated since v1.14; use "orch.io/os" instead',
            'spec.hostAliases[1].ip: duplicate ip "10.0.0.1"', 'spec.imagePullSecrets[1].name: duplicate name "a"',
            "spec.volumes[0].gitRepo: deprecated in v1.11", 'spec.containers[0].env[1].name: duplicate name "A"',
            'spec.containers[0].resources.limits[memory]: fractional byte value "100m" is invalid',
            "metadata.annotations[scheduler.alpha.orch.io/critical-pod]: non-functional in v1.16+",
        )  # fmt: skip
        selector = {"matchLabels": {"a": "b"}}
        template = {"metadata": meta, "spec": spec}
        workload = {"metadata": {"name": "d"}, "spec": {"selector": selector, "template": template}}
        for path, body, place in (
            ("pods", {"metadata": {"name": "p", **meta}, "spec": spec}, ""),
            ("/apis/apps/v1/namespaces/default/deployments", workload, "spec.template."),
        ):
            warned = self.send("POST", f"{path}?dryRun=All", body).headers["warning"].replace('\\"', '"')
            for text in texts:
                self.assertIn(f'299 - "{place}{text}', warned)

    def test_errors_are_no_tables(self) -> None:
        """A refusal is a Status where a Table or metadata was asked for (reference TABLE-6)."""
        for form in ("Table", "PartialObjectMetadata", "PartialObjectMetadataList"):
            accept = {"accept": f"application/json;as={form};g=meta.orch.io;v=v1"}
            for path in ("configmaps/missing", "configmaps?limit=a", "nothing"):
                answer = self.send("GET", path, None, accept)
                self.assertEqual(answer.headers["content-type"], "application/json")
                self.assertEqual((answer.json["kind"], answer.json["apiVersion"]), ("Status", "v1"))

    def test_watch_of_metadata(self) -> None:
        """In a watch of partial metadata each object is a PartialObjectMetadata (reference WATCH-17)."""
        made = self.done("POST", "configmaps", config_map(finalizers=["example.com/a"]))
        accept = {"accept": "application/json;as=PartialObjectMetadata;g=meta.orch.io;v=v1"}
        watch = self.run_async(self.server.watch(f"{DEFAULT}/configmaps?watch=1", accept))
        self.addCleanup(watch.close)
        self.done("PATCH", "configmaps/x", {"metadata": {"labels": {"a": "b"}}}, MERGE)
        self.done("PATCH", "configmaps/x", {"metadata": {"finalizers": None}}, MERGE)
        self.done("DELETE", "configmaps/x")
        for kind, resource_version in (("ADDED", 0), ("MODIFIED", 1), ("MODIFIED", 2), ("DELETED", 3)):
            event = self.run_async(watch.next())
            obj = event["object"]
            self.assertEqual((event["type"], obj["kind"]), (kind, "PartialObjectMetadata"))
            self.assertEqual(obj["apiVersion"], "meta.orch.io/v1")
            self.assertEqual(obj.keys(), {"kind", "apiVersion", "metadata"})
            version = int(made["metadata"]["resourceVersion"]) + resource_version
            self.assertEqual(obj["metadata"]["resourceVersion"], str(version))

    def test_removed_versions(self) -> None:
        """Versions that 1.16 and 1.22 removed are a 404; those that end with 1.25 to 1.27 warn (reference VER-4)."""
        for path in (
            "networking.orch.io/v1beta1/ingresses", "extensions/v1beta1/ingresses", "apps/v1beta1/deployments",
            "apps/v1beta2/deployments", "rbac.authorization.orch.io/v1beta1/roles",
            "apiextensions.orch.io/v1beta1/customresourcedefinitions",
            "admissionregistration.orch.io/v1beta1/mutatingwebhookconfigurations",
            "certificates.orch.io/v1beta1/certificatesigningrequests", "scheduling.orch.io/v1beta1/priorityclasses",
        ):  # fmt: skip
            self.assertEqual(self.code("GET", f"/apis/{path}"), 404, path)
        for path, release in (
            ("batch/v1beta1/cronjobs", "1.25"), ("discovery.orch.io/v1beta1/endpointslices", "1.25"),
            ("policy/v1beta1/poddisruptionbudgets", "1.25"), ("policy/v1beta1/podsecuritypolicies", "1.25"),
            ("events.orch.io/v1beta1/events", "1.25"), ("node.orch.io/v1beta1/runtimeclasses", "1.25"),
            ("autoscaling/v2beta1/horizontalpodautoscalers", "1.25"),
            ("autoscaling/v2beta2/horizontalpodautoscalers", "1.26"),
            ("flowcontrol.apiserver.orch.io/v1beta1/flowschemas", "1.26"),
            ("storage.orch.io/v1beta1/csistoragecapacities", "1.27"),
        ):  # fmt: skip
            answer = self.send("GET", f"/apis/{path}")
            self.assertEqual(answer.code, 200, path)
            self.assertIn(f"unavailable in v{release}+", answer.headers["warning"])
