/**
 * What `target` becomes by a merge patch (RFC 7396): objects are merged member by member, at every depth; `null`
 * removes; everything else, lists too, replaces. A member that is `undefined` was not said.
 */
export function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch;
  const before = isObject(target) ? target : {};
  const merged = new Map(Object.entries(before));
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) merged.delete(name);
    else if (value !== undefined) merged.set(name, mergePatch(merged.get(name), value));
  }
  return Object.fromEntries(merged);
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
