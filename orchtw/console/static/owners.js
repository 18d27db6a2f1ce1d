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
