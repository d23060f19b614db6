import type { EndpointId } from '../domain/endpoint';
import { laneNameOf } from '../domain/endpoint';
import { queueKeysOf } from '../domain/keys';
import { createClosables } from '../testing/closables';
import { openTestRedis } from '../testing/test-redis';
import { createJobKeys } from './bullmq-layout';
import * as scripts from './bullmq-shard.script';

const { willClose, closeAll } = createClosables();
afterEach(closeAll);

const ENDPOINT = 'ep_1' as EndpointId;

/** What scripts take for the keys of a queue, and of what an endpoint has there. */
async function keysInScripts(base: string): Promise<unknown> {
  const { client } = willClose(await openTestRedis());
  const text = await client.eval(
    `local once = {}
    ${Object.values(scripts)
      .map(({ body }) => body)
      .join('\n')}
    local shard, endpoint = shard_of(ARGV[1]), ARGV[2]
    local of_endpoint = {
      held = held_of(shard, endpoint), lane = lane_of(shard, endpoint), carried = carried_of(shard, endpoint),
      grouped = grouped_of(shard, endpoint), lines = lines_of(shard, endpoint), batches = batches_of(shard, endpoint),
    }
    return cjson.encode({ shard, of_endpoint })`,
    0,
    base,
    ENDPOINT,
  );
  return JSON.parse(String(text));
}

it.each([
  ['bull', 'deliveries'],
  ['{bull}', 'deliveries'],
  ['{bull:2}', 'events'],
])(
  'the keys that scripts build for the shard %s, queue %s, are those of all others',
  async (prefix, queue) => {
    const {
      base,
      wait,
      prioritized,
      active,
      delayed,
      failed,
      stalled,
      meta,
      marker,
      events,
      priorityCounter,
    } = createJobKeys(prefix, queue);
    const keys = queueKeysOf(prefix);
    const jobs = { base, wait, prioritized, active, delayed, failed, stalled, meta, marker, events };
    expect(await keysInScripts(base)).toEqual([
      {
        ...jobs,
        counter: priorityCounter,
        tag: keys.tag,
        order: keys.fairOrder(queue),
        weights: keys.accountWeights,
        counts: keys.heldCounts,
        counted: keys.countedAsHeld,
        behind_heads: keys.behindHeads,
        wake_ups: keys.wakeUps,
      },
      {
        held: keys.held(ENDPOINT),
        lane: keys.lane(laneNameOf(ENDPOINT)),
        carried: keys.carried(laneNameOf(ENDPOINT)),
        grouped: keys.grouped(ENDPOINT),
        lines: keys.lines(ENDPOINT),
        batches: keys.batches(ENDPOINT),
      },
    ]);
  },
);
