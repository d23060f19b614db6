/** What is answered to a GET; fails if it is not 200. */
export async function getJson(
  url: string,
  headers: Readonly<Record<string, string>>,
): Promise<Record<string, unknown>> {
  const response = await fetch(url, { headers });
  const body = await response.text();
  if (response.status !== 200) throw new Error(`${url} was answered with ${response.status}.`);
  return JSON.parse(body) as Record<string, unknown>;
}

export interface MeasureInput {
  /** Gives the answer to a GET of this path, and fails if it is not 200. */
  readonly get: (path: string) => Promise<unknown>;
  readonly pathOf: PathOf;
  readonly requests: number;
  /** Requests under way at the same time. */
  readonly atOnce: number;
}

/** How long each request took, in milliseconds. */
export async function measure({ get, pathOf, requests, atOnce }: MeasureInput): Promise<number[]> {
  const durations: number[] = [];
  let next = 0;
  async function askRest(): Promise<void> {
    while (next < requests) {
      const path = pathOf(next++);
      const startedAt = performance.now();
      await get(path);
      durations.push(performance.now() - startedAt);
    }
  }
  await Promise.all(Array.from({ length: atOnce }, askRest));
  return durations;
}

/** Which path the i-th request to a route asks for. */
export type PathOf = (i: number) => string;

export type Route = readonly [label: string, pathOf: PathOf];

const MINUTE_MS = 60_000;

export function minuteOf(time: number): string {
  const [since, until] = [time, time + MINUTE_MS].map((ms) => new Date(ms).toISOString());
  return `since=${since}&until=${until}`;
}

export function atIndex<Item>(items: readonly Item[], i: number): Item {
  const item = items[i % items.length];
  if (item === undefined) throw new Error('Nothing was loaded.');
  return item;
}
