import { BuiltService } from '../processes/built-service';
import { RedisProcess } from '../processes/measured-process';
import { EVENT_TYPE } from '../traffic/events';
import { ReceiverProcess } from '../traffic/receiver';
import { type Batch, SenderProcess, type Target } from '../traffic/sender';

/** The service and all that is around it, new for each scene. */
export interface World {
  readonly redis: RedisProcess;
  readonly service: BuiltService;
  readonly receiver: ReceiverProcess;
  /** Of those whose latency is measured. */
  readonly sender: SenderProcess;
  /** Of those that make trouble: what it has to do delays no clock of the other one. */
  readonly troubleSender: SenderProcess;
}

export interface WorldOptions {
  /** The checkout whose API and worker are run. */
  readonly build: string;
  /** How many the queues are split over; one unless given. */
  readonly shards?: number | undefined;
}

export async function inWorld<T>(
  { build, shards = 1 }: WorldOptions,
  work: (world: World) => Promise<T>,
): Promise<T> {
  const redis = await RedisProcess.start();
  const receiver = await ReceiverProcess.start();
  const [sender, troubleSender] = [await SenderProcess.start(), await SenderProcess.start()];
  try {
    const environment = { QUEUE_SHARDS: String(shards) };
    const service = await BuiltService.start({ build, redisUrl: redis.url, environment });
    try {
      return await work({ redis, service, receiver, sender, troubleSender });
    } finally {
      await service.stop();
    }
  } finally {
    for (const each of [sender, troubleSender, receiver]) each.stop();
    await redis.stop();
  }
}

export interface Account {
  readonly target: Target;
  readonly webhookId: string;
}

/** An account with one endpoint. */
export async function addAccount({ service }: World, account: string, url: string): Promise<Account> {
  await service.createAccount(account);
  return { target: service.targetOf(account), webhookId: await service.register(account, url, EVENT_TYPE) };
}

const BATCH = 500;

/** An account's events in batches as long as the API takes them. */
export function inBatches(target: Target, events: number): Batch[] {
  return Array.from({ length: Math.ceil(events / BATCH) }, (_, i) => ({
    target,
    firstEvent: i * BATCH,
    events: Math.min(BATCH, events - i * BATCH),
  }));
}

// What a producer with a few connections does.
const BATCHES_AT_ONCE = 4;

/** As fast as the API takes them. Resolves when all are accepted. */
export async function publishAll({ troubleSender }: World, batches: readonly Batch[]): Promise<void> {
  await troubleSender.publishBatches(batches, BATCHES_AT_ONCE);
}

export function secondsSince(startedAt: number): number {
  return (performance.now() - startedAt) / 1_000;
}
