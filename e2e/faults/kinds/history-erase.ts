import { setTimeout as wait } from 'node:timers/promises';
import { until } from '../../support/until';
import { askPatiently } from '../ask-patiently';
import { toFindings } from '../checks/finding';
import { BULK_TYPE, subscribersOf } from '../endpoints';
import type { FaultScene } from '../fault-scene';
import { during, type Strike } from './fault-kind';

const EVENTS = 12;
// From just before it is due to move until it has.
const EARLIER_MS = 300;
const LATER_MS = 500;
const DELIVERED_WITHIN_MS = 30_000;

interface EventView {
  readonly data: unknown;
  readonly payload_erased_at: string | null;
  readonly deliveries: Readonly<Record<string, number>>;
}

/** Each at another moment of its move. */
export async function eraseWhileMoving(scene: FaultScene): Promise<Strike> {
  const { service, publisher, random, checkWhenMoved } = scene;
  const events = Array.from({ length: EVENTS }, () => publisher.prepare(BULK_TYPE));
  const ids = events.flatMap(({ id }) => (id === undefined ? [] : [id]));
  const dueMs = service.historyMoveAfterMs;
  const moments = ids.map(() => random.between(Math.max(dueMs - EARLIER_MS, 0), dueMs + LATER_MS));
  await Promise.all(events.map((event) => publisher.publishUntilAcknowledged(event)));
  const erased: string[] = [];
  const strike = await during('payloads', async () => {
    await Promise.all(
      ids.map(async (id, i) => {
        // What is still to be sent would be cancelled.
        if (!(await isDelivered(scene, id))) return;
        await wait(moments[i] ?? 0);
        await askPatiently(service.client, 204, 'DELETE', `/v1/events/${id}/payload`);
        erased.push(id);
      }),
    );
  });
  checkWhenMoved(async () => toFindings('erased, and something is left', await findRemains(service, erased)));
  return strike;
}

async function isDelivered({ service: { client }, specs }: FaultScene, id: string): Promise<boolean> {
  const receivers = subscribersOf(BULK_TYPE, specs).length;
  const giveUpAt = Date.now() + DELIVERED_WITHIN_MS;
  return await until(async () => {
    const response = await client.request<EventView>('GET', `/v1/events/${id}`).catch(() => undefined);
    if (response?.status === 200 && response.body.deliveries.delivered === receivers) return true;
    return Date.now() > giveUpAt ? false : undefined;
  });
}

async function findRemains(
  { client, history, readStored }: FaultScene['service'],
  ids: readonly string[],
): Promise<readonly string[]> {
  const remains: string[] = [];
  for (const id of ids) {
    const { body } = await askPatiently<EventView>(client, 200, 'GET', `/v1/events/${id}`);
    if (body.data !== null || body.payload_erased_at === null) remains.push(`${id} in the API`);
    const stored = await readStored(`event:{default/${id}}`);
    if (stored !== null && !stored.endsWith('\n')) remains.push(`${id} in Redis: ${stored.slice(0, 80)}`);
  }
  const rows = await history.query<{ event_id: string }>(
    `SELECT event_id FROM webhook_events WHERE event_id = ANY($1) AND (data IS NOT NULL OR erased_at IS NULL)
     UNION ALL SELECT event_id FROM webhook_attempts
     WHERE event_id = ANY($1) AND (response_body IS NOT NULL OR response_headers IS NOT NULL)`,
    [ids],
  );
  return [...remains, ...rows.map(({ event_id }) => `${event_id} in PostgreSQL`)];
}
