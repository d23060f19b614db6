import type { Attempt } from '@hookferry/core/domain/attempt';
import type { AcceptedEvent, EventId } from '@hookferry/core/domain/event';
import { DeliveryStore } from '@hookferry/core/events/redis-delivery-store';
import type { EndedList } from '@hookferry/core/events/redis-ended-list';
import { EventStore } from '@hookferry/core/events/redis-event-store';
import { createNewId } from '@hookferry/core/platform/ids';
import { atomicAsOne } from '@hookferry/core/platform/redis-atomic';
import { buildAcceptedAttempt, buildAttempt } from '@hookferry/core/testing/build-attempt';
import { buildEvent } from '@hookferry/core/testing/build-event';
import { buildNewDeliveries } from '@hookferry/core/testing/build-new-deliveries';
import { inParallel } from '../in-parallel';
import { ACCOUNT, DAY_MS, type HistoryStage, yesterday } from './stage';

export interface LoadOptions {
  readonly deliveries: number;
  /** The type and body of each event. */
  readonly contentOf?: (i: number) => Pick<AcceptedEvent, 'type' | 'body'>;
  /** Whether they never arrive, after three attempts that were answered with an error page. */
  readonly areFailing?: boolean;
  /** What else is to be done about each event, before it is over. */
  readonly onPut?: (event: AcceptedEvent) => Promise<void>;
  /** Told of all of them when they are on record: what has ended moves to the history. */
  readonly endedList?: EndedList;
}

// The services' own, so that those of another day are still kept.
const RETENTION_MS = 14 * DAY_MS;
const MOST_KEPT = 2_000_000;
// So few that what is under way is soon gone from memory, and more than one, so that neither side waits for the other.
const TOGETHER = 100;
const LOADERS = 4;
const TOLD_EVERY = 50_000;
const ERROR_PAGE = '<h1>Internal Server Error</h1>'.repeat(10);

/** Puts as many deliveries of yesterday on record, by the service's own stores: an event each, spread over the day. */
export async function loadHistory(
  { redis, endpointIds }: HistoryStage,
  { deliveries, contentOf, areFailing = false, onPut, endedList }: LoadOptions,
): Promise<void> {
  const retention = { ageMs: RETENTION_MS, count: Math.max(deliveries, MOST_KEPT) };
  const events = new EventStore(redis, retention);
  const log = new DeliveryStore(redis, retention);
  const atomic = atomicAsOne(redis);
  const since = yesterday();
  let now = since;
  const newId = createNewId(() => now);

  async function put(i: number): Promise<void> {
    now = since + Math.floor((i / deliveries) * DAY_MS);
    const id = newId('evt') as EventId;
    const endpointId = endpointIds[i % endpointIds.length];
    if (endpointId === undefined) return;
    const acceptedAt = now;
    const parts = { eventId: id, endpointId };
    const event = buildEvent({ id, accountId: ACCOUNT, acceptedAt, ...contentOf?.(i) });
    const attempts = attemptsOf(areFailing, acceptedAt, event.type);
    // As one command for all that are put together.
    await atomic([
      events.save(event, [endpointId]),
      log.enlistAll(buildNewDeliveries(id, [endpointId], acceptedAt)),
      events.enlistAll([{ event, deliveries: 1 }]),
    ]);
    for (const fact of attempts) await log.append(parts, fact);
    await onPut?.(event);
    if (endedList) await atomic([endedList.addAll([{ accountId: ACCOUNT, ...parts }], acceptedAt)]);
  }

  let done = 0;
  await inParallel(Math.ceil(deliveries / TOGETHER), LOADERS, async (i) => {
    const first = i * TOGETHER;
    const count = Math.min(TOGETHER, deliveries - first);
    await Promise.all(Array.from({ length: count }, (_, each) => put(first + each)));
    done += count;
    if (done % TOLD_EVERY === 0) process.stderr.write(`  ${done} of ${deliveries} on record\n`);
  });
}

function attemptsOf(areFailing: boolean, startedAt: number, eventType: string) {
  const common: Partial<Attempt> = { startedAt, timings: { firstByteMs: 38 }, worker: 'f00d42' };
  const attempts = areFailing
    ? [1, 2, 3].map((number) => buildAttempt({ ...common, number, responseBody: ERROR_PAGE }))
    : [buildAcceptedAttempt(common)];
  return attempts.map((attempt) => ({
    kind: 'attempted' as const,
    attempt,
    nextAttemptAt: areFailing && attempt.number < 3 ? startedAt + 1_000 : undefined,
    ...(attempt.number === 1 && { eventType }),
  }));
}
