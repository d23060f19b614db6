import type { EndpointId } from '@hookferry/core/domain/endpoint';
import type { QueueShard } from '@hookferry/core/domain/queues';
import { ArchiveStream } from '@hookferry/core/events/archive/redis-archive-stream';
import { stepErasure } from '@hookferry/core/operations/erase-account';
import { stepReplay } from '@hookferry/core/replays/step-replay';
import { composeArchive } from './compose-archive';
import { type ConsumerDeps, type ConsumersContext, composeShards, consumerOf } from './compose-shards';
import { createErasureConsumer, createReplayConsumer } from './consumers/bullmq-stepwise';
import { SharedCapacity } from './consumers/bullmq-worker';
import { openStores } from './open-stores';
import { ServedShards } from './served-shards';

const REPLAY_CONCURRENCY = 8;
const ERASURE_CONCURRENCY = 2;

/** Builds what takes jobs, over connections that stand, and what works for it on the side. Nothing is started. */
export function composeConsumers(context: ConsumersContext) {
  // What is composed for a shard is made when it is served; what it is made of asks which ones are.
  const servedShards = (): readonly QueueShard[] => served.list();
  const limitOf = (endpointId: EndpointId) => concurrency.limitOf(endpointId);
  const storesContext = { ...context, servedShards, limitOf };
  const stores = openStores(storesContext);
  const deps: ConsumerDeps = { ...storesContext, ...stores };
  const archive = composeArchive(context.config, context);
  const archiveStream = archive && new ArchiveStream(context.redis);
  const { openShard, transport, releaser, slots, concurrency } = composeShards(deps, archiveStream);
  const served = new ServedShards(openShard, deps.config.WORKER_SHARDS);
  const slow = [composeReplays(deps), composeErasures(deps)];
  return {
    served,
    consumers: [...slow, ...(archive ? [archive.archiver] : [])],
    // These let go what consumers take, or bring it to where they take it from.
    releaser,
    archiveParts: archive?.parts ?? [],
    recorders: stores.recorders,
    transport,
    openQueues: stores.openQueues,
    /** What metrics show. */
    shown: { ...stores, slots, concurrency, archiveStream },
  };
}

/** How those are taken that nobody waits for by the second. They are few, and all in the first shard. */
function backgroundOf(deps: ConsumerDeps) {
  return { ...consumerOf(deps, deps.shards.first), stalledCheckMs: deps.config.JOB_LOCK_DURATION };
}

function composeReplays(deps: ConsumerDeps) {
  return createReplayConsumer({
    ...backgroundOf(deps),
    capacity: new SharedCapacity(REPLAY_CONCURRENCY),
    stepReplay: (order) => stepReplay(deps, order),
  });
}

function composeErasures(deps: ConsumerDeps) {
  return createErasureConsumer({
    ...backgroundOf(deps),
    capacity: new SharedCapacity(ERASURE_CONCURRENCY),
    stepErasure: (accountId, cursor) => stepErasure(deps, accountId, cursor),
  });
}
