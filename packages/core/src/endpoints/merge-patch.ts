type Members = Readonly<Record<string, unknown>>;

/** A JSON Merge Patch (RFC 7396): what is left out stays, `null` removes, objects are merged, all else is replaced. */
export function mergePatch(target: Members, patch: Members): Members {
  const merged = new Map(Object.entries(target));
  for (const [name, change] of Object.entries(patch)) {
    if (change === null) merged.delete(name);
    else if (isObject(change)) merged.set(name, mergePatch(objectOr(merged.get(name), {}), change));
    else if (change !== undefined) merged.set(name, change);
  }
  return Object.fromEntries(merged);
}

function objectOr(value: unknown, other: Members): Members {
  return isObject(value) ? value : other;
}

function isObject(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
