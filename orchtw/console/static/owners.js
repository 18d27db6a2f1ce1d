// Owners of fields, from managedFields.

/** Whether a set of fields (FieldsV1) has something under a path; `value` is the object at the set's place. */
function holds(fields, value, path) {
  if (fields["."] !== undefined && path.length === 0) return true;
  if (path.length === 0) return Object.keys(fields).length === 0;
  const [head, ...rest] = path;
  if (typeof head === "string") {
    const below = fields[`f:${head}`];
    return below !== undefined && (Object.keys(below).length === 0 || holds(below, value?.[head], rest));
  }
  const item = value?.[head];
  for (const [key, below] of Object.entries(fields)) {
    if (names(key, item, head) && (Object.keys(below).length === 0 || holds(below, item, rest))) return true;
  }
  return false;
}

/** Whether a key of FieldsV1 names an item of a list: by its keys, its value or its place. */
function names(key, item, place) {
  try {
    if (key.startsWith("k:")) {
      return Object.entries(JSON.parse(key.slice(2))).every(([name, value]) => item?.[name] === value);
    }
    if (key.startsWith("v:")) return JSON.stringify(JSON.parse(key.slice(2))) === JSON.stringify(item);
  } catch {
    return false;
  }
  return key === `i:${place}`;
}

/** The managers of an object, in the order of their names: [{name, fields}]. */
export function managers(obj) {
  const found = new Map();
  for (const entry of obj.metadata.managedFields || []) {
    const name = entry.manager + (entry.subresource ? ` (${entry.subresource})` : "");
    found.set(name, [...(found.get(name) || []), entry.fieldsV1 || {}]);
  }
  return [...found].sort().map(([name, fields]) => ({ name, fields }));
}

/** The places in `managers` of those that own the field of a path. */
export function ownersOf(path, obj, all) {
  return all.flatMap(({ fields }, place) => (fields.some((each) => holds(each, obj, path)) ? [place] : []));
}

/** The manager that made `next` of `before`, which is null for an object that was not seen before. */
export function writerOf(before, next) {
  const identity = ({ manager, operation, subresource, apiVersion }) => JSON.stringify([manager, operation, subresource, apiVersion]);
  const known = new Map((before?.metadata.managedFields || []).map((each) => [identity(each), JSON.stringify(each)]));
  const entries = [...(next.metadata.managedFields || [])].sort((one, other) => Date.parse(other.time) - Date.parse(one.time));
  // Times are whole seconds: of writes in one second, only the changed entries tell the writer. A manager that lost
  // fields to the writer has a changed entry too, but a shorter one.
  const changed = entries.filter((each) => known.get(identity(each)) !== JSON.stringify(each));
  const grown = changed.find((each) => JSON.stringify(each).length >= (known.get(identity(each)) || "").length);
  return (grown || changed[0] || entries[0])?.manager || "";
}
