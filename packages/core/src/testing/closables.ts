export interface Closable {
  close(): unknown;
}

export interface Closables {
  /** Gives `resource` back, and remembers to close it. */
  willClose<Resource extends Closable>(resource: Resource): Resource;
  /** Close the resources opened since the last time, the latest first. */
  closeAll(): Promise<void>;
}

/**
 * For resources that a test opens in its middle: closed by an `afterEach`, they are closed even when the test
 * fails. Jest would wait endlessly for a connection that stays open.
 */
export function createClosables(): Closables {
  const opened: Closable[] = [];
  return {
    willClose(resource) {
      opened.push(resource);
      return resource;
    },
    async closeAll() {
      for (const resource of opened.splice(0).toReversed()) await resource.close();
    },
  };
}
