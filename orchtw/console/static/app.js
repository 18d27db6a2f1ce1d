// The console: sign-in, the tree of kinds, the views and their keys. What is shown is in the address behind "#".

import { Api, ApiError } from "./api.js";
import { ask, dismiss, fill, h } from "./dom.js";
import { ObjectView } from "./object_view.js";
import { ServerView } from "./server_view.js";
import { TableView } from "./table_view.js";
import { eventsView, writesView } from "./timeline_view.js";

const at = (id) => document.getElementById(id);
const TABS = [["#", "Objects", "o"], ["#events", "Events", "v"], ["#changes", "Changes", "h"], ["#server", "Server", "s"]];
const COUNT_MS = 10000;
const TOKEN = /^[\x21-\x7e]+$/; // what a header can have
const LEAVE_FILTER = ["Escape", "Enter", "ArrowDown"];
const KEYS = [
  ["/", "filter; Enter goes on to the rows"], ["j k ↓ ↑", "move"], ["Enter", "open"], ["Esc", "back"], ["e", "edit"], ["d", "delete"],
  ["y c", "YAML, changes of an object"], ["t", "the tree of kinds"], ["n", "the namespace; empty: all"], ["o v h s", "objects, events, changes, server"], ["?", "this list"],
];

const api = new Api((linked) => {
  at("link").textContent = linked ? "" : "The server does not answer; trying again …";
});
let resources = [];
let scope = ""; // the namespace that is shown; empty: all
let view = null;
let waiting = null; // links whose numbers are yet to be asked for

/** Sign in with what the browser has (a certificate), else ask for a token; then show what the address names. */
async function start() {
  try {
    resources = await api.resources();
  } catch (error) {
    if (error instanceof ApiError) return signIn(error.code === 401 || error.code === 403 ? "" : error.message);
    setTimeout(start, 2000);
    return;
  }
  at("leave").hidden = false;
  at("namespace").hidden = false;
  fill(at("tabs"), TABS.map(([href, name]) => h("a", { href }, name)));
  drawTree();
  at("tree").addEventListener("toggle", count, true);
  setInterval(look, COUNT_MS);
  count();
  route();
}

/** Ask for a token, and say what is wrong with the last one. */
function signIn(said) {
  const token = h("input", { type: "password", autocomplete: "off", "aria-label": "Token", required: true });
  const form = h("form", { class: "sign-in", on: { submit: (event) => {
    event.preventDefault();
    const given = token.value.trim();
    if (!TOKEN.test(given)) return signIn("The token has characters that no token has.");
    api.token = given;
    fill(at("view"), h("p", {}, "Signing in …"));
    start();
  } } },
  h("h2", {}, "Sign in"),
  h("p", {}, "Enter a bearer token. It is kept in this page's memory only, and forgotten when the page is closed or loaded again."),
  said ? h("p", { class: "problem" }, said) : null,
  token, h("button", {}, "Sign in"));
  at("namespace").hidden = true;
  fill(at("tree"));
  fill(at("tabs"));
  fill(at("view"), form);
  token.focus();
}

/** The tree: groups and their kinds, with the numbers of objects, asked for while it can be seen. */
function drawTree() {
  const groups = new Map([["", []]]);
  const sorted = [...resources].sort((one, other) => (one.group < other.group ? -1 : one.group > other.group ? 1 : 0));
  const were = new Map([...at("tree").children].map((each) => [each.dataset.group, each.open]));
  for (const each of sorted) groups.set(each.group, [...(groups.get(each.group) || []), each]);
  fill(at("tree"), [...groups].map(([group, kinds]) => h("details", { "data-group": group, open: were.get(group) ?? (group === "" || kinds.length < 3) },
    h("summary", {}, group || "core"),
    kinds.map((each) => h("a", { "data-kind": key(each) }, h("span", {}, each.kind), h("output", {}))))));
  markTree();
}

/** Ask again for the kinds, which definitions change, and for the numbers of their objects. */
async function look() {
  if (document.hidden) return;
  try {
    const found = await api.resources();
    if (found.map(key).join() !== resources.map(key).join()) {
      resources = found;
      drawTree();
    }
  } catch {
    return; // the link's status is told elsewhere
  }
  await count();
}

const countable = () => [...at("tree").querySelectorAll("details[open] a")];

/** Ask for the numbers of the kinds in open groups, a few at a time, unless a round of it is under way. */
async function count() {
  if (waiting || document.hidden) return;
  waiting = countable();
  const next = async () => {
    for (let link = waiting.shift(); link; link = waiting.shift()) {
      const resource = resources.find((each) => key(each) === link.dataset.kind);
      const asked = scope;
      const found = await api.count(resource, scope).then((number) => number.toLocaleString("en"), () => "–");
      if (asked === scope) link.querySelector("output").textContent = found;
    }
  };
  await Promise.all([next(), next(), next(), next()]);
  waiting = null;
}

const key = (resource) => `${resource.plural}.${resource.version}.${resource.group}`;

/** The address of a kind, in the namespace that is shown. */
const place = (resource) => `#${key(resource)}${scope && resource.namespaced ? `/${encodeURIComponent(scope)}` : ""}`;

/**
 * Show what the address names: a view, also with a text to filter by, a kind, also as kind/namespace, or an object as
 * kind/namespace/name.
 */
function route() {
  const [name, ...rest] = parts(location.hash.slice(1));
  dismiss();
  view?.stop();
  view = null;
  for (const link of at("tabs").children) mark(link, shows(link.getAttribute("href"), name));
  document.body.classList.remove("with-tree");
  const resource = resources.find((each) => key(each) === name);
  if (resource?.namespaced && rest.length < 2) setScope(rest[0] || "");
  markTree();
  if (name === "events") view = eventsView(api, resources, scope, rest[0] || "");
  else if (name === "changes") view = writesView(api, rest[0] || "");
  else if (name === "server") view = new ServerView(api);
  else if (resource && rest.length === 2) view = new ObjectView(api, resource, rest[0], rest[1], () => { location.hash = place(resource); });
  else if (resource) view = new TableView(api, resource, open, scope);
  fill(at("view"), view ? view.element : h("p", { class: "welcome" }, "Choose a kind, or press ? for the keys."));
  if (!view) document.body.classList.add("with-tree");
  focusView();
}

/** Give the focus to what the keys of the view move in. */
function focusView() {
  (at("view").querySelector(".rows, .plots") || at("view")).focus({ preventScroll: true });
}

/** The decoded parts of an address; none if it is not valid. */
function parts(address) {
  try {
    return address.split("/").map(decodeURIComponent);
  } catch {
    return [];
  }
}

function markTree() {
  const [name] = parts(location.hash.slice(1));
  const known = new Map(resources.map((each) => [key(each), each]));
  for (const link of at("tree").querySelectorAll("a")) {
    link.href = place(known.get(link.dataset.kind));
    mark(link, link.dataset.kind === name);
  }
}

/** Remember the namespace that is shown, and count anew what is in it. */
function setScope(namespace) {
  at("namespace").value = namespace;
  if (namespace === scope) return;
  scope = namespace;
  for (const number of at("tree").querySelectorAll("output")) number.textContent = "";
  waiting?.splice(0, Infinity, ...countable());
  count();
}

/** Show another namespace: of the kind that is shown, or in the view that is. */
function chooseNamespace() {
  setScope(at("namespace").value.trim());
  const [name] = parts(location.hash.slice(1));
  const resource = resources.find((each) => key(each) === name);
  if (resource?.namespaced && location.hash !== place(resource)) location.hash = place(resource);
  else route();
}

async function suggestNamespaces() {
  fill(at("namespaces"), (await api.namespaces()).map((value) => h("option", { value })));
}

function mark(link, current) {
  if (current) link.setAttribute("aria-current", "page");
  else link.removeAttribute("aria-current");
}

const shows = (href, name) => href === `#${name}` || (href === "#" && !TABS.some(([other]) => other === `#${name}`));

function open(resource, namespace, name) {
  location.hash = `#${key(resource)}/${encodeURIComponent(namespace)}/${encodeURIComponent(name)}`;
}

function help() {
  return ask("Keys", h("dl", {}, KEYS.flatMap(([keys, what]) => [h("dt", {}, keys), h("dd", {}, what)])), [["", "Close"]]);
}

function focusTree() {
  document.body.classList.add("with-tree");
  (at("tree").querySelector("a[aria-current]") || at("tree").querySelector("details[open] a"))?.focus();
}

function onKey(event) {
  const typing = event.target.closest("input, textarea, dialog[open]");
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (typing) {
    const { target } = event;
    if (target === at("namespace") && event.key === "Escape") target.value = scope;
    const left = target === at("namespace") ? ["Enter", "Escape"] : target.matches("[type=search]") ? LEAVE_FILTER : [];
    if (!left.includes(event.key)) return;
    focusView(); // a namespace that was entered is chosen then
    event.preventDefault();
    return;
  }
  if (event.key === "Enter" && event.target.closest("a, button, summary")) return;
  const tab = TABS.find(([, , letter]) => letter === event.key);
  if (event.key === "?") help();
  else if (event.key === "t") focusTree();
  else if (event.key === "n") at("namespace").select();
  else if (tab && !(event.key === "h" && event.target.closest("#tree"))) location.hash = tab[0];
  else if (event.target.closest("#tree") && ["j", "k", "ArrowDown", "ArrowUp"].includes(event.key)) moveInTree(event.key);
  else if (!view?.key(event)) return;
  event.preventDefault();
}

function moveInTree(letter) {
  const links = [...at("tree").querySelectorAll("summary, details[open] a")];
  const step = letter === "j" || letter === "ArrowDown" ? 1 : -1;
  links[links.indexOf(document.activeElement) + step]?.focus();
}

function leave() {
  api.token = "";
  location.reload();
}

function changeTheme() {
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  const root = document.documentElement;
  root.dataset.theme = (root.dataset.theme || (dark ? "dark" : "light")) === "dark" ? "light" : "dark";
}

at("help").addEventListener("click", help);
at("namespace").addEventListener("focus", suggestNamespaces);
at("namespace").addEventListener("change", chooseNamespace);
at("leave").addEventListener("click", leave);
at("theme").addEventListener("click", changeTheme);
at("menu").addEventListener("click", () => {
  const shown = document.body.classList.toggle("with-tree");
  at("menu").setAttribute("aria-expanded", shown);
});
addEventListener("hashchange", route);
addEventListener("keydown", onKey);
start();
