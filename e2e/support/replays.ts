import type { ApiClient } from './api-client';
import type { Receiver } from './receiver';
import { QUICK_WIN } from './samples';
import { until } from './until';

export interface ReplayView {
  readonly id: string;
  readonly status: string;
  readonly found: number;
  readonly enqueued: number;
  readonly ended_at: string | null;
}

const BATCH = 500;
const since = '2026-01-01T00:00:00Z';

export async function publishMany(client: ApiClient, count: number): Promise<string[]> {
  const ids: string[] = [];
  while (ids.length < count) {
    const events = Array.from({ length: Math.min(BATCH, count - ids.length) }, () => QUICK_WIN);
    const { body } = await client.expect<{ data: { id: string }[] }>(207, 'POST', '/v1/events/batch', {
      events,
    });
    ids.push(...body.data.map(({ id }) => id));
  }
  return ids;
}

export async function startReplay(client: ApiClient, webhookId: string, body: object): Promise<ReplayView> {
  const response = await client.expect<ReplayView>(202, 'POST', `/v1/webhooks/${webhookId}/replays`, {
    since,
    ...body,
  });
  expect(response.headers.get('location')).toBe(`/v1/replays/${response.body.id}`);
  return response.body;
}

export async function readReplay(client: ApiClient, id: string): Promise<ReplayView> {
  return (await client.expect<ReplayView>(200, 'GET', `/v1/replays/${id}`)).body;
}

export async function replayEnded(client: ApiClient, { id }: ReplayView): Promise<ReplayView> {
  return await until(async () => {
    const replay = await readReplay(client, id);
    return replay.ended_at === null ? undefined : replay;
  });
}

/** How often each event came. */
export function timesReceived(receiver: Receiver): Map<string, number> {
  const times = new Map<string, number>();
  for (const { headers } of receiver.requests) {
    const id = String(headers['webhook-id']);
    times.set(id, (times.get(id) ?? 0) + 1);
  }
  return times;
}
