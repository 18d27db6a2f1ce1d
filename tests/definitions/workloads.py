"""Schemas of what many operators take over from the core API: pods, selectors, references, conditions."""

from __future__ import annotations

from tests.definitions.build import (
    DNS_LABEL,
    Schema,
    big,
    choice,
    flag,
    keyed,
    listed,
    mapped,
    moment,
    number_or_name,
    part,
    quantity,
    text,
    whole,
)


def conditions() -> Schema:
    """Return the schema of a status."""
    state = choice("True", "False", "Unknown")
    return keyed(
        part(
            "type", "status", "lastTransitionTime", "reason", "message",
            type=text(maxLength=316, pattern=r"^([A-Za-z0-9.-]+/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$"),
            status=state, observedGeneration=big(minimum=0), lastTransitionTime=moment(),
            reason=text(minLength=1, maxLength=1024, pattern=r"^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$"),
            message=text(maxLength=32768),
        ),
        "type",
    )  # fmt: skip


def key_of(what: str = "") -> Schema:
    """A key of a Secret or ConfigMap in the same namespace."""
    about = f"Chooses a key of a {what or 'secret'} in the namespace of this object."
    return part(
        "key", key=text(), name=text(), optional=flag(), more={"description": about, "x-orch-map-type": "atomic"}
    )


def secret_or_map() -> Schema:
    """A value that is in a Secret or a ConfigMap."""
    return part(secret=key_of(), configMap=key_of("config map"))


def label_selector() -> Schema:
    """Labels that are wanted."""
    expression = part(
        "key", "operator", key=text(), operator=choice("In", "NotIn", "Exists", "DoesNotExist"), values=listed(text())
    )
    return part(matchLabels=mapped(), matchExpressions=listed(expression), more={"x-orch-map-type": "atomic"})


def resources() -> Schema:
    """Return the schema of requests and limits."""
    return part(limits=mapped(quantity()), requests=mapped(quantity()))


def tolerations() -> Schema:
    """Taints that are put up with."""
    return listed(
        part(
            key=text(), operator=choice("Exists", "Equal"), value=text(),
            effect=choice("NoSchedule", "PreferNoSchedule", "NoExecute"), tolerationSeconds=big(),
        )
    )  # fmt: skip


def affinity() -> Schema:
    """Nodes and neighbours that are wanted or avoided."""
    expression = part(
        "key", "operator", key=text(), values=listed(text()),
        operator=choice("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"),
    )  # fmt: skip
    nodes = part(matchExpressions=listed(expression), matchFields=listed(expression))
    term = part(
        "topologyKey", labelSelector=label_selector(), namespaceSelector=label_selector(), namespaces=listed(text()),
        topologyKey=text(minLength=1),
    )  # fmt: skip
    preferred = listed(part("weight", "podAffinityTerm", weight=whole(1, 100), podAffinityTerm=term))
    neighbours = part(
        preferredDuringSchedulingIgnoredDuringExecution=preferred,
        requiredDuringSchedulingIgnoredDuringExecution=listed(term),
    )
    node = part(
        preferredDuringSchedulingIgnoredDuringExecution=listed(
            part("weight", "preference", weight=whole(1, 100), preference=nodes)
        ),
        requiredDuringSchedulingIgnoredDuringExecution=part(
            "nodeSelectorTerms", nodeSelectorTerms=listed(nodes, minItems=1)
        ),
    )
    return part(nodeAffinity=node, podAffinity=neighbours, podAntiAffinity=neighbours)


def spread() -> Schema:
    """Return the schema of topology spread constraints."""
    return keyed(
        part(
            "maxSkew", "topologyKey", "whenUnsatisfiable", maxSkew=whole(1), topologyKey=text(),
            whenUnsatisfiable=choice("DoNotSchedule", "ScheduleAnyway"), labelSelector=label_selector(),
            minDomains=whole(1), matchLabelKeys=listed(text()),
        ),
        "topologyKey", "whenUnsatisfiable",
    )  # fmt: skip


def http_action() -> Schema:
    """A request that a probe or hook sends."""
    return part(
        "port", path=text(), port=number_or_name(), host=text(), scheme=choice("HTTP", "HTTPS"),
        httpHeaders=listed(part("name", "value", name=text(), value=text())),
    )  # fmt: skip


def probe() -> Schema:
    """Return the schema of a probe."""
    return part(
        exec=part(command=listed(text())), httpGet=http_action(),
        tcpSocket=part("port", port=number_or_name(), host=text()),
        grpc=part("port", port=whole(1, 65535), service=text()),
        initialDelaySeconds=whole(), timeoutSeconds=whole(), periodSeconds=whole(), successThreshold=whole(),
        failureThreshold=whole(), terminationGracePeriodSeconds=big(),
    )  # fmt: skip


def container_security() -> Schema:
    """Return the schema of a container's security context."""
    return part(
        allowPrivilegeEscalation=flag(), capabilities=part(add=listed(text()), drop=listed(text())),
        privileged=flag(), procMount=text(), readOnlyRootFilesystem=flag(), runAsGroup=big(), runAsNonRoot=flag(),
        runAsUser=big(), seLinuxOptions=part(level=text(), role=text(), type=text(), user=text()),
        seccompProfile=part("type", localhostProfile=text(), type=text()),
        windowsOptions=part(
            gmsaCredentialSpec=text(), gmsaCredentialSpecName=text(), hostProcess=flag(), runAsUserName=text()
        ),
    )  # fmt: skip


def pod_security() -> Schema:
    """Return the schema of a pod's security context."""
    return part(
        fsGroup=big(), fsGroupChangePolicy=text(), runAsGroup=big(), runAsNonRoot=flag(), runAsUser=big(),
        seLinuxOptions=part(level=text(), role=text(), type=text(), user=text()),
        seccompProfile=part("type", localhostProfile=text(), type=text()), supplementalGroups=listed(big()),
        sysctls=listed(part("name", "value", name=text(), value=text())),
    )  # fmt: skip


def environment() -> Schema:
    """Return the schema of environment variables."""
    source = part(
        configMapKeyRef=key_of("config map"), secretKeyRef=key_of(),
        fieldRef=part("fieldPath", apiVersion=text(), fieldPath=text(), more={"x-orch-map-type": "atomic"}),
        resourceFieldRef=part(
            "resource", containerName=text(), divisor=quantity(), resource=text(), more={"x-orch-map-type": "atomic"}
        ),
    )  # fmt: skip
    return keyed(part("name", name=text(), value=text(), valueFrom=source), "name")


def container() -> Schema:
    """Return the schema of a container."""
    hook = part(
        exec=part(command=listed(text())), httpGet=http_action(),
        tcpSocket=part("port", port=number_or_name(), host=text()),
    )  # fmt: skip
    ports = keyed(
        part(
            "containerPort", containerPort=whole(1, 65535), hostIP=text(), hostPort=whole(), name=text(),
            protocol=text(default="TCP"),
        ),
        "containerPort", "protocol",
    )  # fmt: skip
    sources = part(configMapRef=part(name=text(), optional=flag()), prefix=text(), secretRef=part(name=text()))
    mounts = keyed(
        part(
            "mountPath", "name", mountPath=text(), mountPropagation=text(), name=text(), readOnly=flag(),
            subPath=text(), subPathExpr=text(),
        ),
        "mountPath",
    )  # fmt: skip
    return part(
        "name", args=listed(text()), command=listed(text()), env=environment(), envFrom=listed(sources),
        image=text(), imagePullPolicy=choice("Always", "Never", "IfNotPresent"),
        lifecycle=part(postStart=hook, preStop=hook), livenessProbe=probe(), name=text(pattern=DNS_LABEL),
        ports=ports, readinessProbe=probe(), resources=resources(), securityContext=container_security(),
        startupProbe=probe(), stdin=flag(), stdinOnce=flag(), terminationMessagePath=text(),
        terminationMessagePolicy=text(), tty=flag(), volumeMounts=mounts,
        volumeDevices=keyed(part("devicePath", "name", devicePath=text(), name=text()), "devicePath"),
        workingDir=text(),
    )  # fmt: skip


def claim_spec() -> Schema:
    """A claim of storage."""
    source = part("kind", "name", apiGroup=text(), kind=text(), name=text())
    return part(
        accessModes=listed(text()), dataSource=source, dataSourceRef=source, resources=resources(),
        selector=label_selector(), storageClassName=text(nullable=True), volumeMode=text(), volumeName=text(),
    )  # fmt: skip


def volumes() -> Schema:
    """Where a pod's files come from."""
    item = part("key", "path", key=text(), mode=whole(0, 511), path=text())
    name = part(name=text(), more={"x-orch-map-type": "atomic"})
    projected = part(
        configMap=part(items=listed(item), name=text(), optional=flag()),
        secret=part(items=listed(item), name=text(), optional=flag()),
        serviceAccountToken=part("path", audience=text(), expirationSeconds=big(), path=text()),
        downwardAPI=part(items=listed(part("path", path=text(), fieldRef=part(fieldPath=text()), mode=whole()))),
    )
    kinds = {
        "configMap": part(defaultMode=whole(), items=listed(item), name=text(), optional=flag()),
        "secret": part(defaultMode=whole(), items=listed(item), optional=flag(), secretName=text()),
        "emptyDir": part(medium=text(), sizeLimit=quantity()),
        "hostPath": part("path", path=text(), type=text()),
        "persistentVolumeClaim": part("claimName", claimName=text(), readOnly=flag()),
        "projected": part(defaultMode=whole(), sources=listed(projected)),
        "nfs": part("path", "server", path=text(), readOnly=flag(), server=text()),
        "csi": part(
            "driver", driver=text(), fsType=text(), nodePublishSecretRef=name, readOnly=flag(),
            volumeAttributes=mapped(),
        ),
        "ephemeral": part(
            volumeClaimTemplate=part("spec", metadata=part(labels=mapped(), annotations=mapped()), spec=claim_spec())
        ),
        "iscsi": part(
            "iqn", "lun", "targetPortal", iqn=text(), lun=whole(), targetPortal=text(), portals=listed(text()),
            secretRef=name, readOnly=flag(), fsType=text(), chapAuthSession=flag(), chapAuthDiscovery=flag(),
            initiatorName=text(), iscsiInterface=text(default="default"),
        ),
        "cephfs": part(
            "monitors", monitors=listed(text()), path=text(), readOnly=flag(), secretFile=text(), secretRef=name,
            user=text(),
        ),
        "downwardAPI": part(
            defaultMode=whole(),
            items=listed(part("path", path=text(), fieldRef=part("fieldPath", fieldPath=text()), mode=whole())),
        ),
    }  # fmt: skip
    return keyed(part("name", name=text(), **kinds), "name")


def pod_spec() -> Schema:
    """Everything of a pod that operators let their users say."""
    return part(
        "containers", activeDeadlineSeconds=big(), affinity=affinity(), automountServiceAccountToken=flag(),
        containers=keyed(container(), "name"), dnsPolicy=text(),
        dnsConfig=part(
            nameservers=listed(text()), searches=listed(text()), options=listed(part(name=text(), value=text()))
        ),
        enableServiceLinks=flag(), hostAliases=keyed(part("ip", ip=text(), hostnames=listed(text())), "ip"),
        hostNetwork=flag(), hostname=text(), imagePullSecrets=keyed(part(name=text(default="")), "name"),
        initContainers=keyed(container(), "name"), nodeName=text(),
        nodeSelector=mapped(label_value()), priorityClassName=text(), restartPolicy=text(), schedulerName=text(),
        securityContext=pod_security(), serviceAccountName=text(), shareProcessNamespace=flag(), subdomain=text(),
        terminationGracePeriodSeconds=big(minimum=0), tolerations=tolerations(),
        topologySpreadConstraints=spread(), volumes=volumes(),
    )  # fmt: skip


def label_value() -> Schema:
    """Return the value of a label."""
    return text(maxLength=63)


def pod_template() -> Schema:
    """A pod to be made."""
    meta = part(labels=mapped(), annotations=mapped(), name=text())
    return part(metadata=meta, spec=pod_spec())


def object_reference(*more: str) -> Schema:
    """Return the schema of an object reference."""
    return part("name", name=text(minLength=1, maxLength=253), **{each: text() for each in more})
