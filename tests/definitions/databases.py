"""Databases: clusters of servers with storage and back-ups, poolers, users."""

from __future__ import annotations

from orchtw.wire.objects import Object
from tests.definitions.build import (
    AGE,
    DNS_LABEL,
    EMBEDDED,
    LIST_TYPE,
    PRESERVE,
    RULES,
    Schema,
    big,
    choice,
    column,
    definition,
    flag,
    keyed,
    listed,
    mapped,
    moment,
    number_or_name,
    one_of,
    part,
    quantity,
    ready_column,
    set_of,
    text,
    version,
    whole,
)
from tests.definitions.workloads import (
    affinity,
    claim_spec,
    conditions,
    environment,
    key_of,
    label_selector,
    object_reference,
    pod_template,
    resources,
    spread,
    tolerations,
)

GROUP = "databases.example.com"
SCALE = {
    "specReplicasPath": ".spec.instances", "statusReplicasPath": ".status.instances",
    "labelSelectorPath": ".status.selector",
}  # fmt: skip


def definitions() -> list[Object]:
    """Five kinds, nine versions; clusters can be scaled, and have rules of their own."""
    cluster_columns = [
        AGE, column("Instances", ".status.instances", "integer", description="Number of servers"),
        column("Ready", ".status.readyInstances", "integer"), column("Status", ".status.phase"),
        column("Primary", ".status.currentPrimary"), column("Load", ".status.load", "number", priority=1),
    ]  # fmt: skip
    backup_columns = [
        AGE, column("Cluster", ".spec.cluster.name"), column("Phase", ".status.phase"),
        column("Started", ".status.startedAt", "date"), column("Error", ".status.error", priority=1),
    ]  # fmt: skip
    pooler = {
        "specReplicasPath": ".spec.instances", "statusReplicasPath": ".status.instances"
    }  # fmt: skip
    return [
        definition(
            GROUP, "Cluster", [
                version("v1alpha1", _cluster(), _cluster_status(), scale=SCALE, served=False, deprecated=True),
                version("v1beta1", _cluster(), _cluster_status(), scale=SCALE, deprecated=True,
                        deprecationWarning="databases.example.com/v1beta1 is deprecated: use v1"),
                version("v1", _cluster(), _cluster_status(), scale=SCALE, additionalPrinterColumns=cluster_columns,
                        description="A primary server and its replicas."),
            ],
            short="dbc", category="databases",
        ),
        definition(
            GROUP, "Pooler", [
                version("v1", _pooler(), part(instances=whole(), secrets=anything_known()), scale=pooler),
            ],
            category="databases",
        ),
        definition(
            GROUP, "Backup", [
                version("v1beta1", _backup(), _backup_status(), deprecated=True),
                version("v1", _backup(), _backup_status(), additionalPrinterColumns=backup_columns),
            ],
            category="databases",
        ),
        definition(
            GROUP, "ScheduledBackup", [
                version("v1", _schedule(), part(
                    lastCheckTime=moment(), lastScheduleTime=moment(), nextScheduleTime=moment()
                )),
            ],
            category="databases",
        ),
        definition(
            GROUP, "User", [
                version("v1beta1", _user(), part(conditions=conditions())),
                version("v1", _user(), part(conditions=conditions()), additionalPrinterColumns=[ready_column(), AGE]),
            ],
            short="dbu", category="databases",
        ),
    ]  # fmt: skip


def objects() -> list[Object]:
    """Return an object of each kind of the database operators."""
    cluster = {
        "instances": 3, "imageName": "example.com/db:15.2", "storage": {"size": "10Gi", "storageClass": "fast"},
        "parameters": {"shared_buffers": "256MB", "max_connections": "100"},
        "bootstrap": {"initdb": {"database": "shop", "owner": "shop"}},
        "resources": {"requests": {"cpu": "500m", "memory": 1073741824}},
        "extraObjects": [{"apiVersion": "v1", "kind": "Service", "metadata": {"name": "more"}, "spec": {"x": 1}}],
    }  # fmt: skip
    pooler = {"cluster": {"name": "sample"}, "type": "rw", "pooling": {"poolMode": "session"}}
    template = {"spec": {"containers": [{"name": "pooler", "image": "example.com/pool:1"}]}}
    return [
        _obj("Cluster", cluster),
        _obj("Pooler", {**pooler, "instances": 2, "template": template}),
        _obj("Backup", {"cluster": {"name": "sample"}, "method": "snapshot"}),
        _obj("ScheduledBackup", {"cluster": {"name": "sample"}, "schedule": "0 0 3 * * *", "suspend": False}),
        _obj(
            "User",
            {"cluster": {"name": "sample"}, "name": "shop", "grants": [{"database": "shop", "rights": ["ALL"]}]},
        ),
    ]


def _obj(kind: str, spec: Object) -> Object:
    return {"apiVersion": f"{GROUP}/v1", "kind": kind, "metadata": {"name": "sample"}, "spec": spec}


def anything_known() -> Schema:
    """Secrets that are in use, by what for."""
    return mapped(part(name=text(), version=text()))


def _store() -> Schema:
    keys = part(accessKeyId=key_of(), secretAccessKey=key_of(), region=key_of(), inheritFromRole=flag())
    blob = part(connectionString=key_of(), storageAccount=key_of(), storageKey=key_of(), inheritFromRole=flag())
    wal = part(
        compression=choice("gzip", "bzip2", "snappy"), encryption=choice("AES256", "kms"), maxParallel=whole(1)
    )
    data = part(
        compression=choice("gzip", "bzip2", "snappy"), encryption=choice("AES256", "kms"), jobs=whole(1),
        immediateCheckpoint=flag(),
    )  # fmt: skip
    return part(
        "destinationPath", destinationPath=text(minLength=1), endpointURL=text(), endpointCA=key_of(),
        serverName=text(), s3Credentials=keys, azureCredentials=blob, wal=wal, data=data, tags=mapped(),
        historyTags=mapped(),
    )  # fmt: skip


def _storage() -> Schema:
    rule = {"rule": "has(self.size) || has(self.pvcTemplate)", "message": "a size or a template is needed"}
    return part(
        size=quantity(), storageClass=text(), resizeInUseVolumes=flag(default=True), pvcTemplate=claim_spec(),
        more={RULES: [rule]},
    )  # fmt: skip


def _bootstrap() -> Schema:
    secret = object_reference()
    source = part("cluster", cluster=text(), type=choice("snapshot", "logical"), databases=listed(text()))
    initdb = part(
        database=text(), owner=text(), secret=secret, dataChecksums=flag(), encoding=text(default="UTF8"),
        localeCollate=text(), localeCType=text(), walSegmentSize=whole(1, 1024), postInitSQL=listed(text()),
        postInitTemplateSQL=listed(text()), options=listed(text()), **{"import": source},
    )  # fmt: skip
    target = part(
        backupID=text(), targetTLI=text(), targetXID=text(), targetName=text(), targetLSN=text(), targetTime=text(),
        targetImmediate=flag(), exclusive=flag(),
    )  # fmt: skip
    recovery = part(
        backup=part("name", name=text(), endpointCA=key_of()), source=text(), database=text(), owner=text(),
        secret=secret, recoveryTarget=target,
        volumeSnapshots=part("storage", storage=object_reference("kind"), walStorage=object_reference("kind")),
    )  # fmt: skip
    copy = part("source", source=text(minLength=1), database=text(), owner=text(), secret=secret)
    return part(initdb=initdb, recovery=recovery, copy=copy, more=one_of("initdb", "recovery", "copy"))


def _cluster() -> Schema:
    kind = part(apiVersion=text(), kind=text(), metadata=part(labels=mapped()), more={EMBEDDED: True, PRESERVE: True})
    external = part(
        "name", name=text(), connectionParameters=mapped(), sslCert=key_of(), sslKey=key_of(), sslRootCert=key_of(),
        password=key_of(), objectStore=_store(),
    )  # fmt: skip
    queries = listed(part("key", "name", key=text(), name=text()))
    role = part(
        "name", name=text(), comment=text(), ensure=choice("present", "absent", default="present"),
        passwordSecret=object_reference(), connectionLimit=big(default=-1), validUntil=moment(),
        inRoles=set_of(text()), inherit=flag(default=True),
        **{each: flag() for each in ("superuser", "createdb", "createrole", "login", "replication", "bypassrls")},
    )  # fmt: skip
    rules = [
        {"rule": "self.instances >= self.minSyncReplicas", "message": "more replicas wanted than there are servers"},
        {"rule": "!has(oldSelf.imageName) || has(self.imageName)", "message": "the image cannot be taken away"},
    ]
    schedule = {
        "affinity": affinity(), "tolerations": tolerations(), "topologyKey": text(), "nodeSelector": mapped(),
        "enablePodAntiAffinity": flag(), "podAntiAffinityType": choice("preferred", "required"),
    }  # fmt: skip
    return part(
        "instances", instances=whole(1, default=1), minSyncReplicas=whole(0, default=0), maxSyncReplicas=whole(0),
        description=text(), imageName=text(), imagePullPolicy=text(), imagePullSecrets=listed(object_reference()),
        inheritedMetadata=part(labels=mapped(), annotations=mapped()), parameters=mapped(),
        accessRules=listed(text()), preload=listed(text()), enableSuperuserAccess=flag(default=True),
        bootstrap=_bootstrap(), storage=_storage(), walStorage=_storage(), resources=resources(),
        scheduling=part(**schedule), topologySpreadConstraints=spread(), env=environment(),
        certificates=part(**{f"{each}Secret": text() for each in ("serverCA", "serverTLS", "clientCA")}),
        superuserSecret=object_reference(), startDelay=whole(default=30), stopDelay=whole(default=30),
        failoverDelay=whole(default=0), primaryUpdateStrategy=choice("supervised", "unsupervised"),
        primaryUpdateMethod=choice("switchover", "restart"), logLevel=choice("error", "warning", "info", "debug"),
        backup=part(objectStore=_store(), retentionPolicy=text(pattern="^[1-9][0-9]*[dwm]$"),
                    target=choice("primary", "prefer-standby")),
        nodeMaintenanceWindow=part("inProgress", inProgress=flag(), reusePVC=flag(default=True)),
        monitoring=part(
            disableDefaultQueries=flag(default=False), enablePodMonitor=flag(), customQueriesSecret=queries,
            customQueriesConfigMap=queries,
        ),
        externalClusters=keyed(external, "name"), managed=part(roles=keyed(role, "name")),
        replica=part("enabled", "source", enabled=flag(), source=text()), extraObjects=listed(kind),
        seccompProfile=part("type", type=text(), localhostProfile=text()),
        more={RULES: rules},
    )  # fmt: skip


def _cluster_status() -> Schema:
    named = {each: text() for each in ("phase", "phaseReason", "currentPrimary", "targetPrimary", "selector")}
    return part(
        **named, instances=whole(), readyInstances=whole(), load={"type": "number", "format": "double", "minimum": 0},
        conditions=conditions(), instancesStatus=mapped(listed(text())), healthyPVC=listed(text()),
        danglingPVC=listed(text()), initializingPVC=listed(text()), timelineID=whole(),
        firstRecoverabilityPoint=text(), lastSuccessfulBackup=text(), configMapResourceVersion=mapped(),
        certificates=part(expirations=mapped(), serverTLSSecret=text()), topology=part(
            instances=mapped(mapped()), nodesUsed=whole(), successfullyExtracted=flag()
        ),
    )  # fmt: skip


def _pooler() -> Schema:
    pooling = part(
        poolMode=choice("session", "transaction", default="session"), parameters=mapped(), authQuery=text(),
        authQuerySecret=object_reference(), paused=flag(default=False), listenPort=number_or_name(),
        more={"nullable": True},
    )  # fmt: skip
    return part(
        "cluster", "pooling", cluster=object_reference(), type=choice("rw", "ro", default="rw"),
        instances=whole(default=1), pooling=pooling, template=pod_template(),
        deploymentStrategy=part(type=text(), rollingUpdate=part(
            maxSurge=number_or_name(), maxUnavailable=number_or_name()
        )),
        selector=label_selector(),
    )  # fmt: skip


def _backup() -> Schema:
    return part(
        "cluster", cluster=object_reference(), method=choice("objectStore", "snapshot", default="objectStore"),
        target=choice("primary", "prefer-standby"), online=flag(),
    )  # fmt: skip


def _backup_status() -> Schema:
    names = (
        "phase",
        "error",
        "backupId",
        "beginLSN",
        "endLSN",
        "beginWal",
        "endWal",
        "destinationPath",
        "serverName",
    )
    snapshot = part(elements=listed(part("name", "type", name=text(), type=text())))
    return part(
        **{name: text() for name in names}, startedAt=moment(), stoppedAt=moment(), snapshotBackupStatus=snapshot,
        instanceID=part(podName=text(), containerID=text()), s3Credentials=part(accessKeyId=key_of()),
    )  # fmt: skip


def _schedule() -> Schema:
    return part(
        "cluster", "schedule", cluster=object_reference(), suspend=flag(), immediate=flag(),
        schedule=text(pattern=r"^(\S+\s+){5}\S+$"), method=choice("objectStore", "snapshot"),
        backupOwnerReference=choice("none", "self", "cluster", default="none"),
    )  # fmt: skip


def _user() -> Schema:
    grant = part("database", database=text(), rights=set_of(choice("SELECT", "INSERT", "UPDATE", "DELETE", "ALL")))
    return part(
        "cluster", "name", cluster=object_reference(), name=text(pattern=DNS_LABEL, maxLength=63),
        passwordSecret=key_of(), grants=keyed(grant, "database"), settings=mapped(nullable=True),
        limits=part(connections=whole(-1), rate={"type": "number", "multipleOf": 0.5, "maximum": 1000}),
        searchPath=listed(text(), **{LIST_TYPE: "atomic"}, maxItems=8, minItems=1),
    )  # fmt: skip
