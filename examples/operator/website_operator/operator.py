"""Reconciler that brings the cluster to what websites ask for."""

from __future__ import annotations

import threading
from functools import partial
from typing import Any

from kubernetes.client import ApiClient, ApiException, CoreV1Api, CustomObjectsApi
from urllib3.exceptions import HTTPError

from website_operator.informer import Informer
from website_operator.website import (
    FINALIZER,
    GROUP,
    PLURAL,
    RECORDS,
    VERSION,
    Object,
    controls,
    pages_of,
    record_of,
    status_of,
)
from website_operator.work_queue import WorkQueue


class Operator:
    """Operator with two informers, of websites and of their pages, and one worker."""

    def __init__(self, api: ApiClient) -> None:
        self._api = api
        self._core = CoreV1Api(api)
        self._websites = CustomObjectsApi(api)
        self._queue = WorkQueue()
        websites = partial(self._websites.list_cluster_custom_object, GROUP, VERSION, PLURAL)
        pages = partial(self._core.list_config_map_for_all_namespaces, label_selector="website")
        self._informers = (Informer(websites, self._see_website), Informer(pages, self._see_pages))

    def start(self) -> None:
        """Start the operator in threads of its own."""
        threading.Thread(target=self.run, name="operator", daemon=True).start()

    def run(self) -> None:
        """Reconcile in this thread until `stop` is called."""
        for informer in self._informers:
            informer.start()
        while (key := self._queue.take()) is not None:
            try:
                self.reconcile(*key)
            except (ApiException, HTTPError, OSError):
                self._queue.failed(key)  # a conflict, too many requests, a lost connection: later again
            else:
                self._queue.done(key)

    def stop(self) -> None:
        """Stop, as a process that ends: what is under way is finished, the rest is left."""
        for informer in self._informers:
            informer.stop()
        self._queue.close()

    def _see_website(self, website: Object) -> None:
        meta = website["metadata"]
        self._queue.add((meta["namespace"], meta["name"]))

    def _see_pages(self, pages: Object) -> None:
        meta = pages["metadata"]
        self._queue.add((meta["namespace"], meta["labels"]["website"]))

    def reconcile(self, namespace: str, name: str) -> None:
        """Bring the cluster to what a website asks for. It reads everything anew and may be called at any time."""
        website = self._read(namespace, name)
        if website is None:
            return
        if "deletionTimestamp" in website["metadata"]:
            self._release(website)
            return
        if FINALIZER not in website["metadata"].get("finalizers", []):
            website = self._claim(website)
        self._keep_record(website)
        problem = self._keep_pages(website)
        self._report(website, problem)

    def _read(self, namespace: str, name: str) -> Object | None:
        try:
            found: Object = self._websites.get_namespaced_custom_object(GROUP, VERSION, namespace, PLURAL, name)
        except ApiException as error:
            if error.status != 404:
                raise
            return None
        return found

    def _claim(self, website: Object) -> Object:
        """Add the finalizer, before anything is made outside that it has to remove."""
        meta = website["metadata"]
        changed = {**website, "metadata": {**meta, "finalizers": [*meta.get("finalizers", []), FINALIZER]}}
        written: Object = self._websites.replace_namespaced_custom_object(*_place(website), changed)
        return written

    def _release(self, website: Object) -> None:
        """Remove the record, then the finalizer."""
        meta = website["metadata"]
        if FINALIZER not in meta.get("finalizers", []):
            return
        record = self._configmap(record_of(website))
        if record is not None and record["data"] == record_of(website)["data"]:
            self._core.delete_namespaced_config_map(record["metadata"]["name"], RECORDS)
        left = [each for each in meta["finalizers"] if each != FINALIZER]
        changed = {**website, "metadata": {**meta, "finalizers": left}}
        self._websites.replace_namespaced_custom_object(*_place(website), changed)

    def _keep_record(self, website: Object) -> None:
        if self._configmap(record_of(website)) is None:
            self._core.create_namespaced_config_map(RECORDS, record_of(website))

    def _keep_pages(self, website: Object) -> str:
        """Create or correct the pages; return why that may not be done."""
        wanted = pages_of(website)
        found = self._configmap(wanted)
        if found is None:
            self._core.create_namespaced_config_map(wanted["metadata"]["namespace"], wanted)
        elif not controls(website, found):
            return "NameTaken"
        elif (found.get("data") or {}) != wanted["data"]:
            meta, changed = found["metadata"], {**found, "data": wanted["data"]}
            self._core.replace_namespaced_config_map(meta["name"], meta["namespace"], changed)
        return ""

    def _report(self, website: Object, problem: str) -> None:
        """Write the status, if it has changed: a write that says nothing new would wake the operator again."""
        status = status_of(website, problem)
        if website.get("status") != status:
            self._websites.replace_namespaced_custom_object_status(*_place(website), {**website, "status": status})

    def _configmap(self, wanted: Object) -> Any:
        meta = wanted["metadata"]
        try:
            found = self._core.read_namespaced_config_map(meta["name"], meta["namespace"])
        except ApiException as error:
            if error.status != 404:
                raise
            return None
        return self._api.sanitize_for_serialization(found)


def _place(website: Object) -> tuple[str, str, str, str, str]:
    meta = website["metadata"]
    return GROUP, VERSION, meta["namespace"], PLURAL, meta["name"]
