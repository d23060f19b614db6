import type { PathOf } from './routes';

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
