"""GitOps: sources in repositories, what is applied from them, and applications of both."""

from __future__ import annotations

from typing import Any

from orchtw.wire.objects import Object
from tests.definitions.build import (
    AGE,
    PRESERVE,
    Schema,
    anything,
    big,
    choice,
    column,
    definition,
    duration,
    flag,
    listed,
    mapped,
    moment,
    number_or_name,
    one_of,
    part,
    ready_column,
    text,
    version,
    whole,
)
from tests.definitions.workloads import conditions, label_selector, object_reference

SOURCES, KUSTOMIZE, HELM, APPS = (f"{each}.gitops.example.com" for each in ("sources", "kustomize", "helm", "apps"))
INTERVAL = r"^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$"


def definitions() -> list[Object]:
    """Seven kinds, thirteen versions."""
    status_column = column("Status", '.status.conditions[?(@.type=="Ready")].message')
    columns = [AGE, ready_column(), status_column]
    git = [column("URL", ".spec.url"), *columns]
    return [
        definition(
            SOURCES, "GitRepository", [
                version("v1beta1", _git(), _source_status(), deprecated=True, additionalPrinterColumns=git,
                        deprecationWarning="v1beta1 GitRepository is deprecated, upgrade to v1"),
                version("v1beta2", _git(), _source_status(), deprecated=True, additionalPrinterColumns=git),
                version("v1", _git(), _source_status(), additionalPrinterColumns=git,
                        description="A branch, tag or commit of a repository."),
            ],
            plural="gitrepositories", short="gitrepo", category="gitops",
        ),
        definition(
            SOURCES, "Bucket", [version("v1", _bucket(), _source_status(), additionalPrinterColumns=columns)],
            category="gitops",
        ),
        definition(
            KUSTOMIZE, "Overlay", [
                version("v1beta2", _overlay(), _overlay_status(), deprecated=True),
                version("v1", _overlay(), _overlay_status(), additionalPrinterColumns=columns),
            ],
            short="ov", category="gitops",
        ),
        definition(
            HELM, "Release", [
                version("v2beta1", _release(), _release_status(), deprecated=True),
                version("v2beta2", _release(), _release_status(), deprecated=True),
                version("v2", _release(), _release_status(), additionalPrinterColumns=columns),
            ],
            short="rel", category="gitops",
        ),
        definition(
            APPS, "Application", [
                version(
                    "v1alpha1", _application(), _application_status(), additionalPrinterColumns=[
                        column("Sync Status", ".status.sync.status"),
                        column("Health Status", ".status.health.status"),
                        column("Revision", ".status.sync.revision", priority=10),
                    ],
                ),
            ],
            short="app apps", category="gitops",
        ),
        definition(
            APPS, "ApplicationSet", [version("v1alpha1", _set(), part(conditions=conditions()))],
            short="appset appsets", category="gitops",
        ),
        definition(
            APPS, "Project", [version("v1alpha1", _project()), version("v1beta1", _project())],
            short="proj", category="gitops",
        ),
    ]  # fmt: skip


def objects() -> list[Object]:
    """Return an object of each kind of the GitOps tools."""
    git = {"url": "https://git.example.com/shop.git", "interval": "1m0s", "ref": {"branch": "main"}}
    bucket = {"bucketName": "shop", "endpoint": "s3.example.com", "interval": "10m"}
    overlay = {"interval": "10m", "path": "./deploy", "prune": True, "sourceRef": {"kind": "Bucket", "name": "shop"}}
    values = {"image": {"tag": "1.2"}, "replicas": 2, "list": [1, "a", None]}
    chart = {"spec": {"chart": "shop", "version": ">=1.0", "sourceRef": {"kind": "GitRepository", "name": "shop"}}}
    source = {"repoURL": "https://git.example.com/shop.git", "path": "deploy", "targetRevision": "HEAD"}
    application = {"project": "default", "source": source, "destination": {"namespace": "shop", "name": "here"}}
    generators = [{"list": {"elements": [{"cluster": "a", "n": 1}]}}]
    template = {"metadata": {"name": "{{cluster}}-shop"}, "spec": application}
    project = {"sourceRepos": ["*"], "destinations": [{"namespace": "*", "server": "*"}]}
    return [
        _obj(f"{SOURCES}/v1", "GitRepository", git),
        _obj(f"{SOURCES}/v1", "Bucket", bucket),
        _obj(f"{KUSTOMIZE}/v1", "Overlay", overlay),
        _obj(f"{HELM}/v2", "Release", {"interval": "5m", "chart": chart, "values": values}),
        _obj(f"{APPS}/v1alpha1", "Application", application),
        _obj(f"{APPS}/v1alpha1", "ApplicationSet", {"generators": generators, "template": template}),
        _obj(f"{APPS}/v1beta1", "Project", project),
    ]


def _obj(api_version: str, kind: str, spec: Object) -> Object:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": "sample"}, "spec": spec}


def _interval(**more: Any) -> Schema:
    return text(pattern=INTERVAL, **more)


def _artifact() -> Schema:
    return part(
        "path", "url", "revision", "lastUpdateTime", path=text(), url=text(), revision=text(), digest=text(),
        lastUpdateTime=moment(), size=big(), metadata=mapped(),
    )  # fmt: skip


def _source_status() -> Schema:
    return part(
        artifact=_artifact(), conditions=conditions(), includedArtifacts=listed(_artifact()), url=text(),
        lastHandledReconcileAt=text(), observedGeneration=big(), observedIgnore=text(),
        more={"default": {"observedGeneration": -1}},
    )  # fmt: skip


def _access() -> Schema:
    namespaces = listed(part(matchLabels=mapped()))
    return part("namespaceSelectors", namespaceSelectors=namespaces)


def _git() -> Schema:
    verify = part("secretRef", mode=choice("HEAD", "Tag", "TagAndHEAD", default="HEAD"), secretRef=object_reference())
    include = part("repository", fromPath=text(), repository=object_reference(), toPath=text())
    return part(
        "url", "interval", url=text(pattern="^(http|https|ssh)://.*$"), interval=_interval(), ignore=text(),
        timeout=_interval(default="60s"), secretRef=object_reference(), proxySecretRef=object_reference(),
        ref=part(branch=text(), tag=text(), semver=text(), name=text(), commit=text()), verify=verify,
        suspend=flag(), recurseSubmodules=flag(), include=listed(include), accessFrom=_access(),
        provider=choice("generic", "azure", "github"),
    )  # fmt: skip


def _bucket() -> Schema:
    return part(
        "bucketName", "endpoint", "interval", bucketName=text(), endpoint=text(), interval=_interval(),
        provider=choice("generic", "aws", "gcp", "azure", default="generic"), insecure=flag(), region=text(),
        prefix=text(), secretRef=object_reference(), timeout=_interval(default="60s"), ignore=text(),
        suspend=flag(), accessFrom=_access(),
        sts=part(
            "endpoint", "provider", endpoint=text(pattern="^(http|https)://.*$"), provider=choice("aws", "ldap")
        ),
    )  # fmt: skip


def _overlay() -> Schema:
    patch = part(
        "patch", patch=text(),
        target=part(**{each: text() for each in (
            "group", "version", "kind", "name", "namespace", "labelSelector", "annotationSelector"
        )}),
    )  # fmt: skip
    check = part("kind", "name", apiVersion=text(), kind=text(), name=text(), namespace=text())
    return part(
        "interval", "prune", "sourceRef", interval=_interval(), retryInterval=_interval(), timeout=_interval(),
        path=text(), prune=flag(), force=flag(default=False), suspend=flag(), wait=flag(), targetNamespace=text(
            minLength=1, maxLength=63
        ),
        sourceRef=part(
            "kind", "name", apiVersion=text(), kind=choice("Bucket", "GitRepository"), name=text(), namespace=text()
        ),
        dependsOn=listed(object_reference("namespace")), healthChecks=listed(check), patches=listed(patch),
        commonMetadata=part(labels=mapped(), annotations=mapped()), components=listed(text()),
        images=listed(part("name", name=text(), newName=text(), newTag=text(), digest=text())),
        decryption=part("provider", provider=choice("sops"), secretRef=object_reference()),
        kubeConfig=part("secretRef", secretRef=object_reference("key")), serviceAccountName=text(),
        postBuild=part(
            substitute=mapped(), substituteFrom=listed(part(
                "kind", "name", kind=choice("Secret", "ConfigMap"), name=text(minLength=1, maxLength=253),
                optional=flag(default=False),
            )),
        ),
    )  # fmt: skip


def _overlay_status() -> Schema:
    entries = listed(part("id", "v", id=text(), v=text()))
    return part(
        conditions=conditions(), inventory=part("entries", entries=entries), lastAppliedRevision=text(),
        lastAttemptedRevision=text(), observedGeneration=big(), lastHandledReconcileAt=text(),
    )  # fmt: skip


def _remediation() -> Schema:
    return part(retries=whole(), ignoreTestFailures=flag(), remediateLastFailure=flag(),
                strategy=choice("rollback", "uninstall"))  # fmt: skip


def _release() -> Schema:
    source = part("name", "kind", kind=choice("GitRepository", "Bucket"), name=text(), namespace=text())
    chart = part(
        "chart", "sourceRef", chart=text(), version=text(default="*"), sourceRef=source, interval=_interval(),
        reconcileStrategy=choice("ChartVersion", "Revision", default="ChartVersion"), valuesFiles=listed(text()),
        verify=part("provider", provider=choice("cosign", default="cosign"), secretRef=object_reference()),
    )  # fmt: skip
    switches = {name: flag() for name in ("disableHooks", "disableWait", "disableWaitForJobs", "replace")}
    crds = choice("Skip", "Create", "CreateReplace")
    own = part("patch", patch=text(), target=part(kind=text(), name=text(), namespace=text()))
    origin = part(
        "kind", "name", kind=choice("Secret", "ConfigMap"), name=text(minLength=1, maxLength=253), optional=flag(),
        valuesKey=text(maxLength=253, pattern=r"^[\-._a-zA-Z0-9]+$"), targetPath=text(maxLength=250),
    )  # fmt: skip
    return part(
        "interval", chart=part("spec", metadata=part(labels=mapped(), annotations=mapped()), spec=chart),
        chartRef=part("kind", "name", kind=text(), name=text()), interval=_interval(), timeout=_interval(),
        releaseName=text(minLength=1, maxLength=53), targetNamespace=text(), storageNamespace=text(),
        maxHistory=whole(), suspend=flag(), serviceAccountName=text(), persistentClient=flag(),
        dependsOn=listed(object_reference("namespace")),
        kubeConfig=part("secretRef", secretRef=object_reference("key")), values={PRESERVE: True},
        valuesFrom=listed(origin), postRenderers=listed(part(kustomize=part(patches=listed(own)))),
        driftDetection=part(
            mode=choice("enabled", "warn", "disabled"), ignore=listed(part("paths", paths=listed(text())))
        ),
        install=part(**switches, crds=crds, createNamespace=flag(), timeout=_interval(), remediation=_remediation()),
        upgrade=part(**switches, crds=crds, cleanupOnFail=flag(), force=flag(), preserveValues=flag(),
                     timeout=_interval(), remediation=_remediation()),
        rollback=part(**switches, cleanupOnFail=flag(), force=flag(), recreate=flag(), timeout=_interval()),
        uninstall=part(disableHooks=flag(), keepHistory=flag(), timeout=_interval(), disableWait=flag()),
        test=part(enable=flag(), ignoreFailures=flag(), timeout=_interval(), filters=listed(part(name=text()))),
        more=one_of("chart", "chartRef"),
    )  # fmt: skip


def _release_status() -> Schema:
    snapshot = part(
        "name", "version", name=text(), namespace=text(), version=whole(), status=text(), chartName=text(),
        chartVersion=text(), configDigest=text(), digest=text(), firstDeployed=moment(), lastDeployed=moment(),
        testHooks=mapped(part(phase=text(), lastStarted=moment(), lastCompleted=moment()), nullable=True),
    )  # fmt: skip
    return part(
        conditions=conditions(), history=listed(snapshot), failures=big(), installFailures=big(),
        upgradeFailures=big(), observedGeneration=big(), helmChart=text(), lastAppliedRevision=text(),
        more={"default": {"observedGeneration": -1}},
    )  # fmt: skip


def _application_source() -> Schema:
    parameter = part(name=text(), value=text(), forceString=flag())
    helm = part(
        valueFiles=listed(text()), parameters=listed(parameter), releaseName=text(), values=text(),
        valuesObject=anything(), fileParameters=listed(part(name=text(), path=text())), version=text(),
        passCredentials=flag(), ignoreMissingValueFiles=flag(), skipCrds=flag(),
    )  # fmt: skip
    patch = part(
        patch=text(), path=text(), options=mapped(flag()),
        target=part(kind=text(), name=text(), namespace=text(), labelSelector=text()),
    )  # fmt: skip
    variable = part("name", "value", code=flag(), name=text(), value=text())
    jsonnet = part(extVars=listed(variable), libs=listed(text()), tlas=listed(variable))
    return part(
        "repoURL", repoURL=text(), path=text(), targetRevision=text(), chart=text(), ref=text(), helm=helm,
        kustomize=part(
            namePrefix=text(), nameSuffix=text(), images=listed(text()), commonLabels=mapped(), version=text(),
            commonAnnotations=mapped(), forceCommonLabels=flag(), patches=listed(patch), namespace=text(),
            replicas=listed(part("name", "count", name=text(), count=number_or_name())),
        ),
        directory=part(recurse=flag(), exclude=text(), include=text(), jsonnet=jsonnet),
        plugin=part(
            name=text(), env=listed(part("name", "value", name=text(), value=text())),
            parameters=listed(part(name=text(), string=text(), array=listed(text()), map=mapped())),
        ),
    )  # fmt: skip


def _destination() -> Schema:
    return part(server=text(), namespace=text(), name=text())


def _sync_policy() -> Schema:
    backoff = part(duration=text(), factor=big(), maxDuration=text())
    return part(
        automated=part(prune=flag(), selfHeal=flag(), allowEmpty=flag()), syncOptions=listed(text()),
        retry=part(limit=big(), backoff=backoff),
        managedNamespaceMetadata=part(labels=mapped(), annotations=mapped()),
    )  # fmt: skip


def _application() -> Schema:
    ignored = part(
        "kind", group=text(), kind=text(), name=text(), namespace=text(), jsonPointers=listed(text()),
        jqPathExpressions=listed(text()), managedFieldsManagers=listed(text()),
    )  # fmt: skip
    return part(
        "destination", "project", destination=_destination(), project=text(), source=_application_source(),
        sources=listed(_application_source()), syncPolicy=_sync_policy(), ignoreDifferences=listed(ignored),
        info=listed(part("name", "value", name=text(), value=text())), revisionHistoryLimit=big(),
    )  # fmt: skip


def _application_status() -> Schema:
    place = {name: text() for name in ("group", "version", "kind", "namespace", "name")}
    health = part(status=text(), message=text(), lastTransitionTime=moment())
    resource = part(**place, status=text(), health=health, hook=flag(), requiresPruning=flag(), syncWave=big())
    compared = part("destination", destination=_destination(), source=_application_source())
    result = part("kind", "name", **place, message=text(), hookPhase=text(), syncPhase=text(), status=text())
    operation = part(
        "phase", "startedAt", phase=text(), startedAt=moment(), finishedAt=moment(), message=text(),
        retryCount=big(), syncResult=part("revision", revision=text(), resources=listed(result)),
    )  # fmt: skip
    entry = part("id", "revision", id=big(), revision=text(), deployedAt=moment(), source=_application_source())
    return part(
        sync=part("status", status=text(), revision=text(), comparedTo=compared), health=health,
        resources=listed(resource), history=listed(entry), operationState=operation, reconciledAt=moment(),
        conditions=listed(part("message", "type", lastTransitionTime=moment(), message=text(), type=text())),
        summary=part(images=listed(text()), externalURLs=listed(text())), sourceType=text(), observedAt=moment(),
    )  # fmt: skip


def _template() -> Schema:
    meta = part(name=text(), namespace=text(), labels=mapped(), annotations=mapped(), finalizers=listed(text()))
    return part("metadata", "spec", metadata=meta, spec=_application())


def _set() -> Schema:
    files = listed(part("path", path=text()))
    folders = listed(part("path", path=text(), exclude=flag()))
    git = part(
        "repoURL", "revision", repoURL=text(), revision=text(), files=files, directories=folders,
        requeueAfterSeconds=big(), template=_template(), values=mapped(),
    )  # fmt: skip
    kinds = {
        "list": part("elements", elements=listed({PRESERVE: True}), template=_template()), "git": git,
        "clusters": part(selector=label_selector(), template=_template(), values=mapped()),
        "pullRequest": part(
            requeueAfterSeconds=big(), template=_template(),
            filters=listed(part(branchMatch=text(), targetBranchMatch=text())),
            forge=part("owner", "repo", owner=text(), repo=text(), api=text(), labels=listed(text())),
        ),
    }  # fmt: skip
    nested = {"matrix": anything(), "merge": anything()}
    return part(
        "generators", "template", generators=listed(part(**kinds, **nested, selector=label_selector())),
        template=_template(), goTemplate=flag(), syncPolicy=part(preserveResourcesOnDeletion=flag()),
        strategy=part(type=text(), rollingSync=part(steps=listed(part(maxUpdate=number_or_name())))),
    )  # fmt: skip


def _project() -> Schema:
    kinds = listed(part("group", "kind", group=text(), kind=text()))
    token = part("iat", iat=big(), exp=big(), id=text())
    role = part(
        "name", name=text(), description=text(), policies=listed(text()), groups=listed(text()),
        jwtTokens=listed(token),
    )  # fmt: skip
    window = part(
        kind=choice("allow", "deny"), schedule=text(), duration=duration(), applications=listed(text()),
        namespaces=listed(text()), clusters=listed(text()), manualSync=flag(), timeZone=text(),
    )  # fmt: skip
    return part(
        sourceRepos=listed(text()), destinations=listed(_destination()), description=text(maxLength=255),
        roles=listed(role), syncWindows=listed(window), clusterResourceWhitelist=kinds,
        clusterResourceBlacklist=kinds, namespaceResourceWhitelist=kinds, namespaceResourceBlacklist=kinds,
        orphanedResources=part(warn=flag(), ignore=listed(part(group=text(), kind=text(), name=text()))),
        signatureKeys=listed(part("keyID", keyID=text())), permitOnlyProjectScopedClusters=flag(),
    )  # fmt: skip
