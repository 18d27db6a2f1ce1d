// What the server does: requests, latency, watches, flow control and store, as plots of the last minutes.

import { h, scroll } from "./dom.js";
import { samples, sums } from "./metrics.js";
import { Plot, POINTS } from "./plots.js";

const EVERY_MS = 2000;
const SPAN = `the last ${(EVERY_MS * POINTS) / 60000} minutes`;
const NAMES = [
  "apiserver_request_total", "apiserver_request_duration_seconds_sum", "apiserver_request_duration_seconds_count",
  "apiserver_longrunning_requests", "apiserver_watch_events_total", "orchtw_watchers", "orchtw_watch_lag_seconds",
  "orchtw_reactor_lag_seconds", "orchtw_reactor_lag_seconds_sum", "orchtw_reactor_lag_seconds_count",
  "apiserver_flowcontrol_current_inqueue_requests", "apiserver_flowcontrol_current_executing_requests",
  "apiserver_storage_objects", "etcd_db_total_size_in_bytes", "process_resident_memory_bytes", "process_cpu_seconds_total",
];

export class ServerView {
  constructor(api) {
    this.api = api;
    this.before = null;
    this.drawn = new Map(); // by title: Plot
    this.stopper = new AbortController();
    this.problem = h("p", { class: "problem", hidden: true });
    this.plots = h("div", { class: "plots", tabindex: "0", role: "group", "aria-label": "Plots" });
    this.element = h("section", { class: "server" },
      h("div", { class: "bar" }, h("h2", {}, "Server"), h("span", { class: "count" }, SPAN)), this.problem, this.plots);
    this.#look();
    this.timer = setInterval(() => this.#look(), EVERY_MS);
  }

  stop() {
    this.stopper.abort();
    clearInterval(this.timer);
  }

  key(event) {
    return scroll(this.plots, event.key);
  }

  async #look() {
    if (this.busy || document.hidden) return; // a slow server gets fewer questions
    this.busy = true;
    try {
      const found = samples(await this.api.text("/metrics", { headers: { Accept: "text/plain" }, signal: this.stopper.signal }), NAMES);
      this.problem.hidden = true;
      this.#take({ at: performance.now(), found });
    } catch (error) {
      this.problem.hidden = false;
      this.problem.textContent = error.message;
    } finally {
      this.busy = false;
    }
  }

  #take(now) {
    const before = this.before;
    this.before = now;
    if (!before) return;
    const seconds = (now.at - before.at) / 1000;
    const all = (name, label) => sums(now.found.get(name), label);
    const rates = (name, label) => {
      const earlier = sums(before.found.get(name), label);
      return new Map([...all(name, label)].map(([key, value]) => [key, (value - (earlier.get(key) || 0)) / seconds]));
    };
    const spent = rates("apiserver_request_duration_seconds_sum", "verb");
    const done = rates("apiserver_request_duration_seconds_count", "verb");
    const latency = new Map([...done].filter(([verb, count]) => count && verb !== "WATCH")
      .map(([verb, count]) => [verb, (1000 * (spent.get(verb) || 0)) / count]));
    const lag = rates("orchtw_reactor_lag_seconds_sum").get("") || 0;
    const looks = rates("orchtw_reactor_lag_seconds_count").get("") || 0;
    this.#add("Requests a second", rates("apiserver_request_total", "verb"));
    this.#add("Mean latency in ms", latency, null);
    this.#add("Watches", all("apiserver_longrunning_requests", "resource"));
    this.#add("Events delivered a second", rates("apiserver_watch_events_total", "kind"));
    this.#add("Watchers by state", all("orchtw_watchers", "state"));
    this.#add("Watch lag in ms", scaled(all("orchtw_watch_lag_seconds", "resource"), 1000));
    this.#add("Reactor lag in ms", new Map([["mean", looks ? (1000 * lag) / looks : 0]]));
    this.#add("Waiting in flow control", all("apiserver_flowcontrol_current_inqueue_requests", "priority_level"));
    this.#add("Executing in flow control", all("apiserver_flowcontrol_current_executing_requests", "priority_level"));
    this.#add("Objects stored", all("apiserver_storage_objects", "resource"));
    this.#add("Store in MiB", scaled(all("etcd_db_total_size_in_bytes"), 1 / 1048576));
    this.#add("Memory in MiB", scaled(all("process_resident_memory_bytes"), 1 / 1048576));
    this.#add("CPU in cores", rates("process_cpu_seconds_total"));
  }

  #add(title, values, other) {
    let plot = this.drawn.get(title);
    if (!plot) {
      plot = new Plot(title);
      this.drawn.set(title, plot);
      this.plots.append(plot.element);
    }
    plot.add(values, other);
  }
}

const scaled = (values, factor) => new Map([...values].map(([key, value]) => [key, value * factor]));
