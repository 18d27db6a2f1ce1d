"""Texts about invalid webhook configurations, word by word (reference HOOK-4)."""

from __future__ import annotations

from typing import Any

from tests.admission.webhooks.case import WebhookCase

PATH = "/apis/admissionregistration.orch.io/v1/{}webhookconfigurations"
RULE = {"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}
FORM = "desired format: https://host[/path]"


def hook(**more: Any) -> dict[str, Any]:
    given = {
        "name": "a.b.c",
        "clientConfig": {"url": "https://h/x"},
        "rules": [RULE],
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        **more,
    }
    return {key: value for key, value in given.items() if value is not None}


def url(text: str) -> dict[str, Any]:
    return hook(clientConfig={"url": text})


def service(**more: Any) -> dict[str, Any]:
    return hook(clientConfig={"service": {"name": "s", "namespace": "n", **more}})


def rule(**more: Any) -> dict[str, Any]:
    return hook(rules=[{**RULE, **more}])


ALONE = "if '*' is present, must not specify other"

# Webhooks, and what is said of them.
ROWS: tuple[tuple[list[dict[str, Any]], str], ...] = (
    (
        [hook(name="bad")],
        'name: Invalid value: "bad": should be a domain with at least three segments separated by dots',
    ),
    ([hook(), hook()], 'webhooks[1].name: Duplicate value: "a.b.c"'),
    ([hook(sideEffects=None)], "sideEffects: Required value: must specify one of None, NoneOnDryRun"),
    ([hook(sideEffects="Some")], 'sideEffects: Unsupported value: "Some": supported values: "None", "NoneOnDryRun"'),
    (
        [hook(timeoutSeconds=40)],
        "timeoutSeconds: Invalid value: 40: the timeout value must be between 1 and 30 seconds",
    ),
    (
        [hook(admissionReviewVersions=None)],
        "admissionReviewVersions: Required value: must specify one of v1, v1beta1",
    ),
    (
        [hook(admissionReviewVersions=["v9"])],
        'admissionReviewVersions: Invalid value: []string{"v9"}: must include at least one of v1, v1beta1',
    ),
    (
        [hook(admissionReviewVersions=["v1", "v1"])],
        'admissionReviewVersions[1]: Invalid value: "v1": duplicate version',
    ),
    ([hook(clientConfig={})], "clientConfig: Required value: exactly one of url or service is required"),
    (
        [hook(clientConfig={"url": "https://h", "service": {"name": "s", "namespace": "n"}})],
        "clientConfig: Required value: exactly one of url or service is required",
    ),
    (
        [url("http://h/x")],
        f"clientConfig.url: Invalid value: \"http\": 'https' is the only allowed URL scheme; {FORM}",
    ),
    ([url("https://me@h/x")], 'clientConfig.url: Invalid value: "me": user information is not permitted in the URL'),
    ([url("https://h/x#y")], 'clientConfig.url: Invalid value: "y": fragments are not permitted in the URL'),
    (
        [url("https://h/x?y=z")],
        'clientConfig.url: Invalid value: "y=z": query parameters are not permitted in the URL',
    ),
    ([url("https:///x")], f'clientConfig.url: Invalid value: "": host must be provided; {FORM}'),
    ([service(name="")], "clientConfig.service.name: Required value: service name is required"),
    ([service(namespace="")], "clientConfig.service.namespace: Required value: service namespace is required"),
    ([service(path="x")], "clientConfig.service.path: Invalid value: \"x\": must start with a '/'"),
    (
        [service(port=70000)],
        "clientConfig.service.port: Invalid value: 70000: port is not valid: must be between 1 and 65535, inclusive",
    ),
    ([rule(operations=[])], "rules[0].operations: Required value"),
    ([rule(apiGroups=[])], "rules[0].apiGroups: Required value"),
    ([rule(apiVersions=[])], "rules[0].apiVersions: Required value"),
    ([rule(resources=[])], "rules[0].resources: Required value"),
    ([rule(operations=["*", "CREATE"])], f"{ALONE} operations"),
    ([rule(apiGroups=["*", "apps"])], f"{ALONE} API groups"),
    ([rule(apiVersions=["*", "v1"])], f"{ALONE} API versions"),
    ([rule(resources=["*", "pods"])], f"{ALONE} resources without subresources"),
    ([rule(resources=["*/*", "pods"])], "if '*/*' is present, must not specify other resources"),
    ([rule(resources=["pods/*", "pods/status"])], "if 'pods/*' is present, must not specify pods/status"),
    ([hook(failurePolicy="Maybe")], 'failurePolicy: Unsupported value: "Maybe": supported values: "Fail", "Ignore"'),
    ([hook(matchPolicy="Any")], 'matchPolicy: Unsupported value: "Any": supported values: "Equivalent", "Exact"'),
)


class TextTests(WebhookCase):
    async def test_refusals(self) -> None:
        """Each mistake is said in the reference's words, of both kinds."""
        for kind in ("mutating", "validating"):
            for webhooks, text in ROWS:
                answer = await self.create(kind, *webhooks)
                self.assertEqual((answer.code, answer.json["reason"]), (422, "Invalid"), (text, answer.body))
                self.assertIn(text, answer.json["message"])
                self.assertIn("webhooks[", answer.json["message"])

    async def test_reinvocation(self) -> None:
        """Only a mutating webhook can be asked again."""
        answer = await self.create("mutating", hook(reinvocationPolicy="Always"))
        expected = 'reinvocationPolicy: Unsupported value: "Always": supported values: "IfNeeded", "Never"'
        self.assertIn(expected, answer.json["message"])

    async def test_defaults(self) -> None:
        """Absent fields get the defaults of HOOK-2; no webhooks are fine (reference HOOK-2)."""
        answer = await self.create("mutating", hook())
        (found,) = answer.json["webhooks"]
        keys = ("failurePolicy", "matchPolicy", "namespaceSelector", "objectSelector", "timeoutSeconds")
        self.assertEqual([found[key] for key in keys], ["Fail", "Equivalent", {}, {}, 10])
        self.assertEqual((found["reinvocationPolicy"], found["rules"][0]["scope"]), ("Never", "*"))
        self.assertEqual((await self.create("validating")).code, 201)

    async def create(self, kind: str, *webhooks: dict[str, Any]) -> Any:
        obj = {"metadata": {"name": f"x{kind}"}, "webhooks": [*webhooks]}
        return await self.server.request("POST", PATH.format(kind), obj)
