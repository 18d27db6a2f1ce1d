// The API with the rights of the page's user. The token stays in this module's memory: no storage, no cookie.

const TABLE = (group) => `application/json;as=Table;v=v1;g=${group},application/json`;
const RETRY_MS = [500, 1000, 2000, 5000, 10000];
const SHORT_MS = 10000; // a watch that ends sooner is followed by a pause

const CHUNK = 500; // objects of a list that are read at once
const BUSY_MS = 10; // between two breaths

const PASSING = new Set([408, 410, 429]); // refusals after which the same request may be served

/** A refusal of the API: `code` and the message of its Status. */
export class ApiError extends Error {
  constructor(code, status) {
    super(status.message || `HTTP ${code}`);
    this.code = code;
    this.reason = status.reason || "";
    this.causes = status.details?.causes || [];
  }
}

export class Api {
  #token = "";

  /** `linked` is told true and false as the server answers or does not. */
  constructor(linked) {
    this.linked = linked;
    this.metaGroup = "meta.k8s.io";
  }

  set token(value) {
    this.#token = value;
  }

  async #fetch(path, options = {}) {
    const headers = { Accept: "application/json", ...options.headers };
    if (this.#token) headers.Authorization = `Bearer ${this.#token}`;
    let answer;
    try {
      answer = await fetch(path, { ...options, headers, cache: "no-store", credentials: "same-origin" });
    } catch (error) {
      if (error.name !== "AbortError") this.linked(false);
      throw error;
    }
    this.linked(true);
    if (answer.ok) return answer;
    let status = {};
    try {
      status = await answer.json();
    } catch {
      // an answer of something in between has no Status
    }
    throw new ApiError(answer.status, status);
  }

  async json(path, options) {
    return (await this.#fetch(path, options)).json();
  }

  async text(path, options) {
    return (await this.#fetch(path, options)).text();
  }

  /** The resources that can be listed, as [{group, version, plural, kind, namespaced, verbs, path}]. */
  async resources() {
    const [core, groups] = await Promise.all([this.json("/api/v1"), this.json("/apis")]);
    const version = (group, listed, base) =>
      (listed.resources || [])
        .filter((each) => !each.name.includes("/") && each.verbs?.includes("list"))
        .map((each) => ({
          group,
          version: listed.groupVersion.split("/").pop(),
          plural: each.name,
          kind: each.kind,
          namespaced: each.namespaced,
          verbs: each.verbs,
          path: base,
        }));
    const found = version("", core, "/api/v1");
    const lists = await Promise.allSettled(
      groups.groups.map((group) => this.json(`/apis/${group.preferredVersion.groupVersion}`)),
    );
    lists.forEach((list, place) => {
      const group = groups.groups[place];
      if (list.status === "fulfilled") {
        found.push(...version(group.name, list.value, `/apis/${group.preferredVersion.groupVersion}`));
      }
    });
    this.metaGroup = groups.groups.some((group) => group.name.endsWith(".k8s.io")) ? "meta.k8s.io" : "meta.orch.io";
    return found;
  }

  collection(resource, namespace = "") {
    const place = namespace && resource.namespaced ? `/namespaces/${encodeURIComponent(namespace)}` : "";
    return `${resource.path}${place}/${resource.plural}`;
  }

  object(resource, namespace, name) {
    return `${this.collection(resource, namespace)}/${encodeURIComponent(name)}`;
  }

  /** The number of objects of a kind, in a namespace if one is given, for the price of one of them. */
  async count(resource, namespace) {
    const list = await this.json(`${this.collection(resource, namespace)}?limit=1`, {
      headers: { Accept: `application/json;as=PartialObjectMetadataList;v=v1;g=${this.metaGroup},application/json` },
    });
    return (list.items || []).length + (list.metadata.remainingItemCount || 0);
  }

  /** The names of the namespaces, if the user may list them. */
  async namespaces() {
    const headers = { Accept: `application/json;as=PartialObjectMetadataList;v=v1;g=${this.metaGroup},application/json` };
    try {
      return (await this.json(`/api/v1/namespaces?limit=${CHUNK}`, { headers })).items.map((each) => each.metadata.name);
    } catch {
      return [];
    }
  }

  /** A list as a table, in chunks: `page(table, first)` is called for each. Returns the list's version. */
  async table(path, page, signal) {
    let token = "";
    let version = "";
    do {
      const query = token ? `&continue=${encodeURIComponent(token)}` : "";
      const table = await this.json(`${path}?limit=${CHUNK}${query}`, {
        headers: { Accept: TABLE(this.metaGroup) },
        signal,
      });
      page(table, !token);
      version = table.metadata.resourceVersion;
      token = table.metadata.continue || "";
    } while (token);
    return version;
  }

  /**
   * Follow a collection: `begin()` lists and returns a version ("": the watch itself sends what there is), `event(event)`
   * gets each event. A watch that ends or
   * is lost goes on after its last event; the collection is listed again when the history has gone. Ends in short
   * succession are followed by growing pauses. It lasts until the signal aborts.
   */
  async follow(path, begin, event, signal, { table = false, query = "" } = {}) {
    await this.#again(async (place) => {
      if (!place.version) place.version = await begin();
      await this.#watch(path, place, event, signal, table, query);
    }, signal);
  }

  /** Follow the record of writes, if the server keeps one, as `follow`; `add` gets each, `clear` is called for a gap. */
  async record(add, signal, clear) {
    await this.#again(async (place) => {
      const from = place.version ? `since=${place.version}` : "limit=500";
      const answer = await this.#fetch(`/debug/history?follow=1&${from}`, { signal });
      if (!place.version) clear();
      for await (const line of lines(answer.body)) {
        const write = JSON.parse(line);
        if (write.type === "ERROR") throw new ApiError(write.object.code || 500, write.object);
        place.version = write.revision || place.version;
        add(write);
      }
    }, signal);
  }

  /** Run `turn(place)` again and again, until the signal aborts or the API refuses it for good. */
  async #again(turn, signal) {
    let failures = 0;
    const place = { version: "" };
    while (!signal.aborted) {
      const began = performance.now();
      try {
        await turn(place);
      } catch (error) {
        if (signal.aborted) return;
        if (error instanceof ApiError && error.code < 500 && !PASSING.has(error.code)) throw error;
        if (error instanceof ApiError && error.code === 410) place.version = "";
      }
      failures = performance.now() - began < SHORT_MS ? failures + 1 : 0;
      if (failures) await pause(RETRY_MS[Math.min(failures, RETRY_MS.length) - 1], signal);
    }
  }

  /** Follow one watch from `place.version` on, which each event moves. */
  async #watch(path, place, event, signal, table, query) {
    const headers = table ? { Accept: TABLE(this.metaGroup) } : {};
    const answer = await this.#fetch(
      `${path}?watch=1&allowWatchBookmarks=true&resourceVersion=${encodeURIComponent(place.version)}${query}`,
      { headers, signal },
    );
    for await (const line of lines(answer.body)) {
      const next = JSON.parse(line);
      if (next.type === "ERROR") throw new ApiError(next.object.code || 500, next.object);
      const meta = table ? next.object.rows?.[0]?.object?.metadata : next.object.metadata;
      place.version = meta?.resourceVersion || next.object.metadata?.resourceVersion || place.version;
      if (next.type !== "BOOKMARK") event(next);
    }
  }
}

function pause(milliseconds, signal) {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, milliseconds);
    signal.addEventListener("abort", done);
  });
}

/** Let the browser draw and take input before this goes on. */
function breath() {
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(null);
  });
}

/** The lines of a stream, with a pause when they have kept the page busy; meanwhile the server keeps what is unread. */
async function* lines(stream) {
  const reader = stream.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  let began = performance.now();
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const parts = (rest + value).split("\n");
    rest = parts.pop();
    for (const part of parts) {
      if (performance.now() - began > BUSY_MS) {
        await breath();
        began = performance.now();
      }
      if (part) yield part;
    }
  }
}
