// JSON values as YAML, line by line, with the path of each line: owners are coloured by it.

const PLAIN = /^[A-Za-z_/][A-Za-z0-9_./ @%+=-]*$/;
const WORDS = /^(?:true|false|null|yes|no|on|off|y|n|~)$/i;

/** A key or value as one word of YAML; quoted where it would be read as something else. */
export function scalar(value) {
  if (typeof value !== "string") return JSON.stringify(value ?? null);
  if (PLAIN.test(value) && !WORDS.test(value) && !value.endsWith(" ")) return value;
  return JSON.stringify(value);
}

/** The lines of a value: [{text, path}], a path being an array of keys and indexes. */
export function yamlLines(value, path = [], indent = "") {
  if (Array.isArray(value)) return value.length ? value.flatMap((item, place) => element(item, [...path, place], indent)) : [];
  return Object.entries(value).flatMap(([key, item]) => member(key, item, [...path, key], indent));
}

const empty = (value) => (Array.isArray(value) ? value.length === 0 : Object.keys(value).length === 0);
const nested = (value) => value !== null && typeof value === "object" && !empty(value);

function member(key, value, path, indent) {
  const name = `${indent}${scalar(key)}:`;
  if (nested(value)) return [{ text: name, path }, ...yamlLines(value, path, Array.isArray(value) ? indent : `${indent}  `)];
  if (typeof value === "string" && value.includes("\n") && !/[^\n\x20-\x7e\u00a0-\ud7ff]|^[\n ]|\n$|\n /.test(value)) {
    const text = value.split("\n").map((line) => ({ text: line ? `${indent}  ${line}` : "", path }));
    return [{ text: `${name} |-`, path }, ...text];
  }
  return [{ text: `${name} ${plain(value)}`, path }];
}

function element(value, path, indent) {
  if (!nested(value)) return [{ text: `${indent}- ${plain(value)}`, path }];
  const found = yamlLines(value, path, `${indent}  `);
  found[0] = { ...found[0], text: `${indent}- ${found[0].text.slice(indent.length + 2)}` };
  return found;
}

function plain(value) {
  if (value !== null && typeof value === "object") return Array.isArray(value) ? "[]" : "{}";
  return scalar(value);
}
