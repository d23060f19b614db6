import { type DeliveryRun, isBefore, type LanePlace, type LaneRun } from '../domain/delivery';
import type { EndpointAddress, EndpointId, LaneName } from '../domain/endpoint';
import type { EventId } from '../domain/event';
import type { QueueShard } from '../domain/queues';
import type { RedisClient } from '../platform/redis-connect';
import { DeliveryShard, type DeliveryToAdd } from './bullmq-delivery-shard';
import type { TakenHead } from './bullmq-running-jobs';
import type { OwnedLane } from './bullmq-running-lanes';
import { encodeRequest } from './delivery-job';
import { PerShard } from './per-shard';
import { claimDelivery, releaseDelivery } from './redis-delivery-placement.script';
import type { ShardsInForce } from './shards-in-force';

// Longer than an attempt takes. It expires only when a process ends in the middle of an attempt, and then
// matters only for a job in another shard.
const CLAIM_MS = 120_000;
// As long as a worker needs to find out that what it has just taken is still elsewhere, and to put it off.
const ASKED_AT_MOST = 20;

/**
 * Whether a delivery's job may run where it is, and its way home. While the queues are being split again a delivery may have
 * two jobs, in two shards, and workers may disagree about which of them counts. The job outside the home
 * shard moves there, and a worker that runs either keeps the other waiting. As long as all processes agree,
 * which is nearly always, this costs no command.
 */
export class DeliveryPlacement {
  readonly #shards: PerShard<DeliveryShard>;

  constructor(
    private readonly redis: RedisClient,
    private readonly shards: Pick<ShardsInForce, 'all' | 'homeShardOf' | 'homeShardsOf' | 'isStable'>,
  ) {
    this.#shards = new PerShard((prefix) => new DeliveryShard(redis, prefix));
  }

  /** Whether no delivery can have a job in another shard. */
  get isStable(): boolean {
    return this.shards.isStable;
  }

  /** Whether all queues are in one shard. */
  get isOneShard(): boolean {
    return this.shards.isStable && this.shards.all().length === 1;
  }

  isInHomeShard({ endpointId }: Pick<DeliveryRun, 'endpointId'>, shard: QueueShard): boolean {
    return this.shards.homeShardOf(endpointId).prefix === shard.prefix;
  }

  /**
   * Whether an older delivery of a lane in this shard is in another one. For a few seconds processes do not agree which one its home
   * shard is, and put deliveries into both.
   */
  async hasOlderElsewhere(
    { endpointId, lane }: Pick<OwnedLane, 'endpointId' | 'lane'>,
    shard: QueueShard,
    entry: LanePlace,
  ): Promise<boolean> {
    const read = this.#othersThan(shard, endpointId).map((other) => other.firstIn(lane));
    return (await Promise.all(read)).some((first) => first !== undefined && isBefore(first, entry));
  }

  /** Whether the turn of another delivery of a lane has begun in another shard. */
  async hasTurnElsewhere(
    { endpointId, eventId }: Pick<DeliveryRun, 'endpointId' | 'eventId'>,
    shard: QueueShard,
    lane: LaneName,
  ): Promise<boolean> {
    const read = this.#othersThan(shard, endpointId).map((other) => other.headOf(lane));
    return (await Promise.all(read)).some((head) => head !== undefined && head !== eventId);
  }

  /**
   * Make the newest entry of a lane that goes in place of older ones an entry of that lane in other shards too, if they have it. Its turn comes
   * when all are in one: until then nobody knows which is the newest, and what was sent last.
   *
   * @returns whether it has to wait for that.
   */
  async joinElsewhere(
    { accountId, endpointId, eventId, request }: DeliveryRun,
    shard: QueueShard,
    { name: lane, place: acceptedAt }: Pick<LaneRun, 'name' | 'place'>,
  ): Promise<boolean> {
    const stored = request && JSON.stringify(encodeRequest(request));
    const entry = { accountId, lane, eventId, acceptedAt, request: stored };
    const joined = this.#othersThan(shard, endpointId).map((other) =>
      other.addEntries([entry], { only: 'if_there' })(this.redis),
    );
    return (await Promise.all(joined)).includes(true);
  }

  /**
   * Gives a delivery that has a job elsewhere its job in its home shard, if it is not in a lane or a batch there.
   *
   * @returns whether the other job may be removed. It must stay while a worker has what was at home before: that worker may have read
   *   its data before the other job was added, or may be moving it here, as workers do not agree for seconds where home is.
   */
  async moveHome(delivery: DeliveryToAdd): Promise<boolean> {
    const home = this.#homeOf(delivery.endpointId);
    if ((await home.addJobs([delivery])(this.redis)) === 1) return true;
    await home.putBackFailed(delivery);
    return (await idleAt(home, delivery.endpointId, [delivery.eventId])).length > 0;
  }

  /**
   * Add entries of a lane in their home shard, as they are elsewhere. The lane there goes on with what had its turn, and knows what
   * was sent last.
   *
   * @param head of the lane, as it was taken.
   * @returns those that are there, and may be removed here: none while a worker has the lane there. See `moveHome`.
   */
  async moveEntriesHome(
    { accountId, endpointId, lane }: EndpointAddress & { readonly lane: LaneName },
    entries: readonly LanePlace[],
    head: Pick<TakenHead, 'eventId' | 'hadBegun' | 'isInBatches' | 'sent' | 'members'>,
  ): Promise<readonly EventId[]> {
    const { hadBegun, isInBatches, sent, members } = head;
    const home = this.#homeOf(endpointId);
    const added = entries.map(({ eventId, acceptedAt, request }) => ({
      accountId,
      lane,
      eventId,
      acceptedAt,
      request,
      isInBatches,
    }));
    const turn = hadBegun ? { head: head.eventId, members } : {};
    if (!(await home.addEntries(added, { ...turn, sent, only: 'if_idle' })(this.redis))) return [];
    const requested = entries.filter(({ request }) => request !== undefined);
    await Promise.all(requested.map(({ eventId }) => home.putBackFailed({ endpointId, eventId })));
    return await idleAt(
      home,
      endpointId,
      entries.map(({ eventId }) => eventId),
    );
  }

  /**
   * Make an attempt, unless a worker has the delivery in another shard right now. Of two that begin in two shards, each has its own lock
   * before it asks for the other's: so they never both go on. The claim is for a process that has stood still, and knows no other shard.
   */
  async work<Result>(
    run: DeliveryRun,
    shard: QueueShard,
    attempt: () => Promise<Result>,
  ): Promise<Result | 'elsewhere'> {
    if (this.shards.isStable) return await attempt();
    return await this.#whileClaimed(run, shard, async () => {
      const others = this.#othersThan(shard, run.endpointId);
      const running = await Promise.all(
        others.map((other) => other.findRunning(run.endpointId, [run.eventId])),
      );
      return running.flat().length > 0 ? 'elsewhere' : await attempt();
    });
  }

  #homeOf(endpointId: EndpointId): DeliveryShard {
    return this.#shards.in(this.shards.homeShardOf(endpointId));
  }

  #othersThan({ prefix }: QueueShard, endpointId: EndpointId): readonly DeliveryShard[] {
    const others = this.shards.homeShardsOf(endpointId).filter((other) => other.prefix !== prefix);
    return this.#shards.inEach(others);
  }

  async #whileClaimed<Result>(
    { endpointId: endpoint, eventId: event }: DeliveryRun,
    { prefix: shard }: QueueShard,
    act: () => Promise<Result>,
  ): Promise<Result | 'elsewhere'> {
    const claim = { endpoint, event, shard };
    if (!(await claimDelivery({ ...claim, claimMs: CLAIM_MS })(this.redis))) return 'elsewhere';
    try {
      return await act();
    } finally {
      await releaseDelivery(claim)(this.redis);
    }
  }
}

/** Those that stay at home. A worker may have taken them as soon as they came there: it finds that they are here, and puts them off. */
async function idleAt(
  home: DeliveryShard,
  endpointId: EndpointId,
  eventIds: readonly EventId[],
): Promise<readonly EventId[]> {
  for (let asked = 1; ; asked += 1) {
    const idle = await home.findIdle(endpointId, eventIds);
    if (idle.length > 0 || eventIds.length === 0 || asked === ASKED_AT_MOST) return idle;
  }
}
