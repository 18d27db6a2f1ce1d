// The text format of metrics, as far as the plots need it.

const LINE = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)/;
const LABEL = /(\w+)="((?:[^"\\]|\\.)*)"/g;

/** The samples of some families: Map of name to [{labels, value}]. */
export function samples(text, names) {
  const wanted = new Set(names);
  const found = new Map(names.map((name) => [name, []]));
  for (const line of text.split("\n")) {
    if (!wanted.has(line.slice(0, line.search(/[ {]/)))) continue; // most lines: a server has thousands of buckets
    const match = LINE.exec(line);
    if (!match) continue;
    const labels = {};
    for (const [, name, value] of (match[2] || "").matchAll(LABEL)) labels[name] = value;
    found.get(match[1]).push({ labels, value: Number(match[3]) });
  }
  return found;
}

/** The sum of samples by a label, those that lack it under "(none)"; all under "" if no label is given. */
export function sums(list, label = "") {
  const found = new Map();
  for (const { labels, value } of list) {
    const key = label ? labels[label] || "(none)" : "";
    found.set(key, (found.get(key) || 0) + value);
  }
  return found;
}
