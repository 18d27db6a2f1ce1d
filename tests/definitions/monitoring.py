"""Monitoring: collectors with whole pods inside, alert routers, and what is to be watched."""

from __future__ import annotations

from orchtw.wire.objects import Object
from tests.definitions.build import (
    AGE,
    PRESERVE,
    Schema,
    big,
    choice,
    column,
    definition,
    duration,
    flag,
    keyed,
    listed,
    mapped,
    number_or_name,
    part,
    quantity,
    ready_column,
    text,
    version,
    whole,
)
from tests.definitions.workloads import (
    affinity,
    claim_spec,
    conditions,
    container,
    key_of,
    label_selector,
    pod_security,
    pod_template,
    resources,
    secret_or_map,
    spread,
    tolerations,
    volumes,
)

GROUP = "monitoring.example.com"
SCALE = {
    "specReplicasPath": ".spec.shards", "statusReplicasPath": ".status.shards",
    "labelSelectorPath": ".status.selector"
}  # fmt: skip
SIZE = r"(^0|([0-9]*[.])?[0-9]+((K|M|G|T|E|P)i?)?B)$"
LEVELS = ("", "debug", "info", "warn", "error")


def definitions() -> list[Object]:
    """Eight kinds, eleven versions; a collector alone has some 3,400 schemas in a version."""
    counts = [
        column("Version", ".spec.version"), column("Desired", ".spec.replicas", "integer"),
        column("Ready", ".status.availableReplicas", "integer"), ready_column("Reconciled"),
        ready_column("Available"), AGE, column("Paused", ".status.paused", "boolean", priority=1),
    ]  # fmt: skip
    return [
        definition(
            GROUP, "Collector", [
                version("v1", _collector(), _status(), scale=SCALE, additionalPrinterColumns=counts,
                        description="A set of servers that collect and keep measurements."),
            ],
            short="col", category="monitoring",
        ),
        definition(
            GROUP, "AlertRouter", [
                version("v1", _router(), _status(), scale=SCALE | {"specReplicasPath": ".spec.replicas"},
                        additionalPrinterColumns=counts),
            ],
            short="ar", category="monitoring",
        ),
        definition(
            GROUP, "RuleEvaluator", [
                version("v1alpha1", _evaluator(), _status(), deprecated=True),
                version("v1", _evaluator(), _status(), additionalPrinterColumns=counts),
            ],
            short="re", category="monitoring",
        ),
        definition(GROUP, "ServiceMonitor", [version("v1", _monitor("endpoints"))], short="smon",
                   category="monitoring"),
        definition(GROUP, "PodMonitor", [version("v1", _monitor("podMetricsEndpoints"))], short="pmon",
                   category="monitoring"),
        definition(GROUP, "Probe", [version("v1", _probe())], short="prb", category="monitoring"),
        definition(GROUP, "RuleSet", [version("v1", _rules())], short="rules", category="monitoring"),
        definition(
            GROUP, "AlertRouting", [
                version("v1alpha1", _routing(), deprecated=True),
                version("v1beta1", _routing()),
                version("v1beta2", _routing()),
            ],
            category="monitoring",
        ),
    ]  # fmt: skip


def objects() -> list[Object]:
    """Return an object of each kind of the monitoring operator."""
    selector = {"matchLabels": {"team": "shop"}}
    rule = {"alert": "Slow", "expr": "latency > 1", "for": "10m", "labels": {"severity": "page"}}
    pods = {
        "replicas": 2, "version": "v2.40.0", "retention": "15d", "logLevel": "info",
        "resources": {"requests": {"memory": "400Mi", "cpu": 1}},
        "containers": [{
            "name": "side", "image": "example.com/side:1", "args": ["--all"],
            "ports": [{"containerPort": 8080, "name": "web"}],
            "readinessProbe": {"httpGet": {"path": "/ready", "port": "web"}, "periodSeconds": 5},
        }],
        "storage": {"volumeClaimTemplate": {"spec": {"resources": {"requests": {"storage": "50Gi"}}}}},
    }  # fmt: skip
    monitor = [{"port": "web", "interval": "30s", "relabelings": [{"action": "drop", "regex": "a.*"}]}]
    route = {"receiver": "all", "groupBy": ["job"], "routes": [{"receiver": "page", "matchers": [{"name": "x"}]}]}
    write = [{"url": "https://store.example.com/write", "queueConfig": {"capacity": 2500, "maxShards": 10}}]
    return [
        _obj("Collector", {**pods, "shards": 2, "serviceMonitorSelector": selector, "remoteWrite": write}),
        _obj("AlertRouter", {**pods, "replicas": 3}),
        _obj("RuleEvaluator", {**pods, "queryEndpoints": ["http://query.example.com"], "ruleSelector": selector}),
        _obj("ServiceMonitor", {"selector": selector, "endpoints": monitor}),
        _obj("PodMonitor", {"selector": selector, "podMetricsEndpoints": monitor}),
        _obj("Probe", {"prober": {"url": "prober.example.com"}, "targets": {"staticConfig": {"static": ["a", "b"]}}}),
        _obj("RuleSet", {"groups": [{"name": "web", "interval": "1m", "rules": [rule]}]}),
        _obj("AlertRouting", {"route": route, "receivers": [{"name": "all"}, {"name": "page"}]}, "v1beta2"),
    ]


def _obj(kind: str, spec: Object, name: str = "v1") -> Object:
    return {"apiVersion": f"{GROUP}/{name}", "kind": kind, "metadata": {"name": "sample"}, "spec": spec}


def _status() -> Schema:
    counts = ("replicas", "updatedReplicas", "availableReplicas", "unavailableReplicas", "shards")
    per_shard = part("shardID", shardID=text(), **{name: whole() for name in counts[:4]})
    return part(
        paused=flag(), selector=text(), **{name: whole() for name in counts}, conditions=conditions(),
        shardStatuses=keyed(per_shard, "shardID"),
    )  # fmt: skip


def _pods() -> dict[str, Schema]:
    """Schema parts of all kinds that run pods."""
    claim = part(
        apiVersion=text(), kind=text(), metadata=part(labels=mapped(), annotations=mapped(), name=text()),
        spec=claim_spec(), status={"type": "object", PRESERVE: True},
    )  # fmt: skip
    storage = part(
        disableMountSubPath=flag(), emptyDir=part(medium=text(), sizeLimit=quantity()),
        ephemeral=part(volumeClaimTemplate=part(spec=claim_spec())), volumeClaimTemplate=claim,
    )  # fmt: skip
    mounts = listed(part("mountPath", "name", mountPath=text(), name=text(), readOnly=flag(), subPath=text()))
    return {
        "replicas": whole(0), "version": text(), "image": text(), "paused": flag(), "retention": text(),
        "logLevel": choice(*LEVELS), "logFormat": choice("", "logfmt", "json"),
        "podMetadata": part(labels=mapped(), annotations=mapped(), name=text()), "imagePullPolicy": text(),
        "imagePullSecrets": listed(part(name=text())), "nodeSelector": mapped(), "resources": resources(),
        "serviceAccountName": text(), "secrets": listed(text()), "configMaps": listed(text()), "storage": storage,
        "volumes": volumes(), "volumeMounts": mounts, "affinity": affinity(), "tolerations": tolerations(),
        "topologySpreadConstraints": spread(), "securityContext": pod_security(), "listenLocal": flag(),
        "containers": keyed(container(), "name"), "initContainers": keyed(container(), "name"),
        "priorityClassName": text(), "portName": text(default="web"), "minReadySeconds": whole(0),
        "hostAliases": keyed(part("ip", "hostnames", ip=text(), hostnames=listed(text())), "ip"),
        "externalUrl": text(), "routePrefix": text(),
    }  # fmt: skip


def _tls() -> Schema:
    return part(
        ca=secret_or_map(), cert=secret_or_map(), keySecret=key_of(), insecureSkipVerify=flag(), serverName=text(),
        caFile=text(), certFile=text(), keyFile=text(),
    )  # fmt: skip


def _credentials() -> dict[str, Schema]:
    return {
        "authorization": part(type=text(), credentials=key_of()),
        "basicAuth": part(username=key_of(), password=key_of()),
        "bearerTokenSecret": key_of(),
        "oauth2": part(
            "clientId", "clientSecret", "tokenUrl", clientId=secret_or_map(), clientSecret=key_of(),
            tokenUrl=text(minLength=1), scopes=listed(text()), endpointParams=mapped(),
        ),
        "tlsConfig": _tls(),
        "proxyUrl": text(),
    }  # fmt: skip


def _relabel() -> Schema:
    actions = ("replace", "keep", "drop", "hashmod", "labelmap", "labeldrop", "labelkeep", "lowercase", "uppercase")
    return listed(
        part(
            action=choice(*actions, default="replace"), modulus=big(), regex=text(), replacement=text(),
            separator=text(), sourceLabels=listed(text(pattern="^[a-zA-Z_][a-zA-Z0-9_]*$")), targetLabel=text(),
        )
    )  # fmt: skip


def _collector() -> Schema:
    selectors: dict[str, Schema] = {}
    for each in ("serviceMonitor", "podMonitor", "probe", "rule"):
        selectors |= {f"{each}Selector": label_selector(), f"{each}NamespaceSelector": label_selector()}
    queue = {name: whole() for name in ("capacity", "minShards", "maxShards", "maxSamplesPerSend", "maxRetries")}
    write = part(
        "url", url=text(format="uri"), name=text(), remoteTimeout=duration(), headers=mapped(), sendExemplars=flag(),
        writeRelabelConfigs=_relabel(), **_credentials(),
        sigv4=part(region=text(), accessKey=key_of(), secretKey=key_of(), profile=text(), roleArn=text()),
        queueConfig=part(**queue, batchSendDeadline=text(), minBackoff=text(), maxBackoff=text()),
        metadataConfig=part(send=flag(), sendInterval=duration()),
    )  # fmt: skip
    read = part(
        "url", url=text(), name=text(), requiredMatchers=mapped(), remoteTimeout=duration(), readRecent=flag(),
        filterExternalLabels=flag(), headers=mapped(), **_credentials(),
    )  # fmt: skip
    routers = listed(
        part(
            "namespace", "name", "port", namespace=text(), name=text(), port=number_or_name(), scheme=text(),
            pathPrefix=text(), apiVersion=text(), timeout=duration(), **_credentials(),
        )
    )  # fmt: skip
    limits = {f"enforced{name}Limit": big() for name in ("Sample", "Target", "Label", "LabelNameLength")}
    return part(
        **_pods(), **selectors, **limits, shards=whole(default=1), retentionSize=text(pattern=SIZE),
        remoteWrite=listed(write), remoteRead=listed(read), alerting=part("routers", routers=routers),
        additionalScrapeConfigs=key_of(), scrapeInterval=duration(default="30s"), scrapeTimeout=duration(),
        externalLabels=mapped(), evaluationInterval=duration(default="30s"), walCompression=flag(),
        query=part(lookbackDelta=text(), maxConcurrency=whole(1), maxSamples=whole(), timeout=duration()),
        web=part(pageTitle=text(), tlsConfig=_web_tls(), maxConnections=whole(0, nullable=True)),
        tsdb=part(outOfOrderTimeWindow=duration()), exemplars=part(maxSize=big()),
        sidecar=part(
            image=text(), version=text(), resources=resources(), objectStorageConfig=key_of(),
            logLevel=choice(*LEVELS), grpcServerTlsConfig=_tls(), volumeMounts=_pods()["volumeMounts"],
        ),
        compactor=part(enabled=flag(default=False), template=pod_template()),
        gateway=part(enabled=flag(default=False), template=pod_template()),
    )  # fmt: skip


def _web_tls() -> Schema:
    return part(
        cert=secret_or_map(), keySecret=key_of(), client_ca=secret_or_map(), minVersion=text(), maxVersion=text(),
        cipherSuites=listed(text()), curvePreferences=listed(text()), preferServerCipherSuites=flag(),
        clientAuthType=choice("NoClientCert", "RequestClientCert", "RequireAndVerifyClientCert"),
    )  # fmt: skip


def _router() -> Schema:
    return part(
        **_pods(), configSecret=text(), routingSelector=label_selector(), routingNamespaceSelector=label_selector(),
        clusterAdvertiseAddress=text(), clusterGossipInterval=duration(), clusterPeerTimeout=duration(),
        additionalPeers=listed(text()), forceEnableClusterMode=flag(), baseImage=text(),
        web=part(tlsConfig=_web_tls()),
    )  # fmt: skip


def _evaluator() -> Schema:
    return part(
        **_pods(), ruleSelector=label_selector(), ruleNamespaceSelector=label_selector(), queryConfig=key_of(),
        queryEndpoints=listed(text()), alertRelabelConfigs=key_of(), objectStorageConfig=key_of(), labels=mapped(),
        evaluationInterval=duration(default="15s"), grpcServerTlsConfig=_tls(), alertDropLabels=listed(text()),
        more={"anyOf": [{"required": ["queryEndpoints"]}, {"required": ["queryConfig"]}]},
    )  # fmt: skip


def _monitor(endpoints: str) -> Schema:
    endpoint = part(
        port=text(), targetPort=number_or_name(), path=text(), scheme=choice("http", "https"),
        params=mapped(listed(text())), interval=duration(), scrapeTimeout=duration(), honorLabels=flag(),
        honorTimestamps=flag(), followRedirects=flag(), metricRelabelings=_relabel(), relabelings=_relabel(),
        **_credentials(),
    )  # fmt: skip
    return part(
        "selector", endpoints, selector=label_selector(), jobLabel=text(), targetLabels=listed(text()),
        namespaceSelector=part(any=flag(), matchNames=listed(text())), sampleLimit=big(), labelLimit=big(),
        **{endpoints: listed(endpoint)},
    )  # fmt: skip


def _probe() -> Schema:
    static = part(static=listed(text()), labels=mapped(), relabelingConfigs=_relabel())
    ingress = part(
        selector=label_selector(), relabelingConfigs=_relabel(),
        namespaceSelector=part(any=flag(), matchNames=listed(text())),
    )  # fmt: skip
    return part(
        prober=part("url", url=text(), path=text(default="/probe"), scheme=text(), proxyUrl=text()), module=text(),
        targets=part(staticConfig=static, ingress=ingress), interval=duration(), scrapeTimeout=duration(),
        metricRelabelings=_relabel(), jobName=text(), **_credentials(),
    )  # fmt: skip


def _rules() -> Schema:
    rule = part(
        "expr", record=text(), alert=text(), expr=number_or_name(), for_=duration(), keep_firing_for=duration(),
        labels=mapped(), annotations=mapped(), more={"not": {"required": ["record", "alert"]}},
    )  # fmt: skip
    group = part("name", name=text(minLength=1), interval=duration(), limit=whole(), rules=listed(rule),
                 partial_response_strategy=text(pattern="^(?i)(abort|warn)?$"))  # fmt: skip
    return part(groups=keyed(group, "name"))


def _routing() -> Schema:
    matcher = part("name", name=text(minLength=1), value=text(), matchType=choice("!=", "=", "=~", "!~"))
    route = part(
        receiver=text(), groupBy=listed(text()), groupWait=duration(), groupInterval=duration(),
        repeatInterval=duration(), matchers=listed(matcher), continue_=flag(), muteTimeIntervals=listed(text()),
        routes=listed({PRESERVE: True}),
    )  # fmt: skip
    client = part(**_credentials(), followRedirects=flag())
    pair = listed(part("key", "value", key=text(minLength=1), value=text()))
    chat = part(
        sendResolved=flag(), apiURL=key_of(), channel=text(), title=text(), text=text(), httpConfig=client,
        fields=listed(part("title", "value", title=text(minLength=1), value=text(minLength=1), short=flag())),
    )  # fmt: skip
    mail = part(
        sendResolved=flag(), to=text(), **{"from": text()}, smarthost=text(), authPassword=key_of(), headers=pair,
        html=text(), tlsConfig=_tls(),
    )  # fmt: skip
    hook = part(sendResolved=flag(), url=text(), urlSecret=key_of(), httpConfig=client, maxAlerts=whole(0))
    receiver = part(
        "name",
        name=text(minLength=1),
        chatConfigs=listed(chat),
        emailConfigs=listed(mail),
        webhookConfigs=listed(hook),
    )
    inhibit = part(targetMatch=listed(matcher), sourceMatch=listed(matcher), equal=listed(text()))
    return part(route=route, receivers=listed(receiver), inhibitRules=listed(inhibit))
