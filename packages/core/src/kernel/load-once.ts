/** A load that is under way, or about to be, and the version that it was asked for. */
interface Loading<Value> {
  version: string;
  readonly done: Promise<Value>;
}

/**
 * Loads what there is of a key once for all who ask at the same time, and never twice at once. Whoever names a version has
 * seen it already: a load that was begun for the same one has it, any other one may have read before it was there. All who
 * came too late for the one that runs share the next, however many versions they name: each of those is there by then.
 *
 * @param load is handed the version that was named last.
 */
export function createLoadOnce<Key, Value>(load: (key: Key, version: string) => Promise<Value>) {
  const running = new Map<Key, Loading<Value>>();
  const next = new Map<Key, Loading<Value>>();

  return async function loadOnce(key: Key, version: string): Promise<Value> {
    const current = running.get(key);
    if (current?.version === version) return await current.done;
    const following = next.get(key);
    if (following) {
      following.version = version;
      return await following.done;
    }
    return await (current ? follow(key, version, current.done) : begin(key, version));
  };

  function begin(key: Key, version: string): Promise<Value> {
    const done = load(key, version).finally(() => running.delete(key));
    running.set(key, { version, done });
    return done;
  }

  function follow(key: Key, version: string, before: Promise<Value>): Promise<Value> {
    // Who asked for that one is told of its failure.
    const done = before.catch(() => {}).then(() => begin(key, take(key)?.version ?? version));
    next.set(key, { version, done });
    return done;
  }

  function take(key: Key): Loading<Value> | undefined {
    const following = next.get(key);
    next.delete(key);
    return following;
  }
}
