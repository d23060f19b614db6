import { createClosables } from '@hookferry/core/testing/closables';
import { BuiltService } from '../processes/built-service';
import { RedisProcess } from '../processes/measured-process';
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

/**
 * @param build the checkout whose API and worker are run
 * @param shards how many the queues are split over
 */
export async function inWorld<T>(
  build: string,
  shards: number,
  work: (world: World) => Promise<T>,
): Promise<T> {
  const { willClose, closeAll } = createClosables();
  try {
    const redis = willClose(await RedisProcess.start());
    const receiver = willClose(await ReceiverProcess.start());
    const [sender, troubleSender] = [willClose(new SenderProcess()), willClose(new SenderProcess())];
    const environment = { QUEUE_SHARDS: String(shards) };
    const service = willClose(await BuiltService.start({ build, redisUrl: redis.url, environment }));
    return await work({ redis, service, receiver, sender, troubleSender });
  } finally {
    await closeAll();
  }
}

/** An account with one endpoint. */
export async function addAccount({ service }: World, account: string, url: string) {
  await service.createAccount(account);
  const webhookId = await service.register(account, url);
  return { target: service.targetOf(account), webhookId };
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
  await troubleSender.ask('publishBatches', batches, BATCHES_AT_ONCE);
}
