import { QUEUE_PREFIX } from '@hookferry/producer/contract';
import { parseLaneJobId } from '../../domain/delivery';
import { laneNameOf, lineOf } from '../../domain/endpoint';
import { queueKeysOf } from '../../domain/keys';
import { DELIVERIES_QUEUE } from '../../domain/queues';
import { WaitingDeliveries } from '../../endpoints/waiting-deliveries';
import { createAtomic } from '../../platform/redis-atomic';
import { createJobKeys } from '../../queue/bullmq-layout';
import { RunningJobs } from '../../queue/bullmq-running-jobs';
import { RunningLanes } from '../../queue/bullmq-running-lanes';
import { buildAdmission } from '../../testing/build-admission';
import { buildEndpoint } from '../../testing/build-endpoint';
import { createClosables } from '../../testing/closables';
import { openTestRedis } from '../../testing/test-redis';
import { uniqueEventId } from '../../testing/unique-ids';
import { wakeUpEndpoint } from './releaser';

const NOW = 1_700_000_000_000;
// More than one change of a webhook can wait for.
const MANY = 20_500;
const shard = { prefix: QUEUE_PREFIX };
const shardKeys = queueKeysOf(QUEUE_PREFIX);

const { willClose, closeAll } = createClosables();
afterEach(closeAll);

it.each([
  ['accepted one after the other', 1],
  ['accepted at one time', 0],
])(
  'lets all lines of a webhook go on that has another window, whatever waits in them: %s',
  async (_how, stepMs) => {
    const { client } = willClose(await openTestRedis());
    const admission = willClose(buildAdmission({ redis: client, clock: () => NOW }));
    const endpoint = buildEndpoint({ ordering: 'group', coalesce: { window_ms: 3_600_000 } });
    await admission.endpointStore.create(endpoint);
    const address = { accountId: endpoint.accountId, endpointId: endpoint.id };
    const nameOf = (group: string) => laneNameOf(endpoint.id, lineOf(endpoint, group));
    const atomic = createAtomic(client);
    const [jobs, lanes] = [new RunningJobs(client, shard, 30_000), new RunningLanes(client, shard)];
    for (const [group, acceptedAt] of [['a', NOW] as const, ['b', NOW + MANY * stepMs] as const]) {
      const line = lineOf(endpoint, group);
      // The last one of its millisecond.
      const eventId =
        group === 'a' ? uniqueEventId() : (`zzz_${uniqueEventId()}` as ReturnType<typeof uniqueEventId>);
      await admission.deliveryQueue.addAll([{ ...address, eventId, acceptedAt, isInLane: true, line }]);
      const [{ job }] = await atomic([jobs.take(group)]);
      if (!job) throw new Error('Nothing waits.');
      await lanes.waitInWindow({ ...address, lane: nameOf(group), token: group, wasHeld: false });
      await atomic([jobs.end([job], { kind: 'delayed', delayMs: 3_600_000 }, eventId)]);
    }
    const waiting = Array.from({ length: MANY }, (_, i) => ({
      eventId: uniqueEventId(),
      place: NOW + i * stepMs,
    }));
    const scored = waiting.flatMap(({ eventId, place }) => [place, eventId]);
    await client.zadd(shardKeys.lane(nameOf('a')), ...scored);
    await client.zadd(shardKeys.grouped(endpoint.id), ...scored);
    const line = lineOf(endpoint, 'a') ?? '';
    await client.hset(
      shardKeys.lines(endpoint.id),
      Object.fromEntries(waiting.map(({ eventId }) => [eventId, line])),
    );

    await new WaitingDeliveries(admission).applyLimits(endpoint, { ...endpoint, coalesce: undefined });
    for (let left = 1; left > 0; ) ({ left } = await wakeUpEndpoint(admission, address, 2));
    const { prioritized } = createJobKeys(QUEUE_PREFIX, DELIVERIES_QUEUE);
    const woken = (await client.zrange(prioritized, '0', '-1')).map((id) => parseLaneJobId(id)?.name);
    expect(woken.toSorted()).toEqual([nameOf('a'), nameOf('b')].toSorted());
  },
);
