// Changes of all kinds as they happen: the record of writes where the server keeps one, else the Events of the cluster.

import { ask, everyFrame, h } from "./dom.js";
import { Rows } from "./rows.js";

const KEPT = 2000;

/** A list of the latest items, newest first, filled by `run(add, signal, clear)`; `details(item)` are its full texts. */
class LatestView {
  constructor(title, row, details, run) {
    this.items = [];
    this.stopper = new AbortController();
    this.rows = new Rows(row, (item) => ask(title, h("ul", { class: "fields" }, details(item).map((text) => h("li", {}, text))), [["", "Close"]]));
    this.problem = h("p", { class: "problem", hidden: true });
    this.element = h("section", { class: "latest" }, h("div", { class: "bar" }, h("h2", {}, title)), this.problem, this.rows.element);
    this.refresh = everyFrame(() => this.rows.show(this.items));
    const clear = () => (this.items = []);
    run((item) => this.#add(item), this.stopper.signal, clear).catch((error) => {
      if (this.stopper.signal.aborted) return;
      this.problem.hidden = false;
      this.problem.textContent = error.message;
    });
  }

  stop() {
    this.stopper.abort();
  }

  key(event) {
    return this.rows.key(event);
  }

  #add(item) {
    this.items.unshift(item);
    if (this.items.length > KEPT) this.items.length = KEPT;
    this.refresh();
  }
}

const cell = (text, kind = "") => h("span", { class: `cell ${kind}`, title: text }, text);

/** Events of the cluster. */
export function eventsView(api, resources) {
  const resource = resources.find((each) => each.plural === "events" && each.group === "");
  const at = (event) => new Date(event.lastTimestamp || event.eventTime || event.metadata.creationTimestamp);
  const about = ({ involvedObject: it }) => `${it?.kind || ""} ${it?.namespace || ""}/${it?.name || ""}`;
  const said = (event) => `${event.message || ""}${event.count > 1 ? ` (×${event.count})` : ""}`;
  const row = (event) => h("div", { class: `line ${event.type === "Warning" ? "warning" : ""}` },
    cell(at(event).toLocaleTimeString(), "time"), cell(event.reason || ""), cell(about(event)), cell(said(event), "wide"));
  const details = (event) => [at(event).toLocaleString(), event.type, event.reason, about(event), said(event)];
  return new LatestView("Events", row, details, async (add, signal, clear) => {
    const path = api.collection(resource);
    const begin = async () => {
      const list = await api.json(`${path}?limit=500`, { signal });
      clear();
      list.items.sort((one, other) => ((one.lastTimestamp || "") < (other.lastTimestamp || "") ? -1 : 1)).forEach(add);
      return list.metadata.resourceVersion;
    };
    await api.follow(path, begin, (event) => event.type !== "DELETED" && add(event.object), signal);
  });
}

/** Writes of all objects, from the server's record. */
export function writesView(api) {
  const verb = (write) => write.verb || write.type || "";
  const about = (write) => `${write.resource || ""} ${write.namespace ? `${write.namespace}/` : ""}${write.name || ""}`;
  const fields = (write, text) => (write.changes || []).map((each) => `${each.path}: ${text(each.old)} → ${text(each.new)}`);
  const row = (write) => h("div", { class: "line" },
    cell((write.time || "").slice(11, 23), "time"),
    cell(write.user || ""), cell(verb(write)), cell(about(write)), cell(fields(write, short).join("; "), "wide"));
  const details = (write) => [write.time, write.user, `${verb(write)} ${about(write)}`, ...fields(write, whole)];
  return new LatestView("Changes", row, details, (add, signal, clear) => api.record(add, signal, clear));
}

const whole = (value) => (value === undefined ? "∅" : JSON.stringify(value));
const short = (value) => {
  const text = whole(value);
  return text.length > 40 ? `${text.slice(0, 39)}…` : text;
};
