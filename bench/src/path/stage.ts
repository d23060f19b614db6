import { RedisProcess } from '../processes/redis-process';
import { ReceiverProcess } from '../traffic/receiver-process';
import { SenderProcess } from '../traffic/sender-process';
import type { Pair, PathContender } from './contender';

/** All the processes of one measurement. */
export interface Stage {
  readonly redis: RedisProcess;
  readonly receiver: ReceiverProcess;
  readonly sender: SenderProcess;
  readonly pair: Pair;
}

export interface StageOptions {
  /** How many there are, which get events in turn. One unless given. */
  readonly webhooks?: number;
  /** How long their receiver takes on average: from half of it to one and a half. At once unless given. */
  readonly receiverMs?: number;
  /** For node, in both processes. */
  readonly nodeOptions?: readonly string[];
}

/** The receiver's stream that all events come in. */
export const STREAM = 'path';

/** Starts the contender with a new Redis, and ends all of it afterwards. */
export async function onStage<T>(
  contender: PathContender,
  work: (stage: Stage) => Promise<T>,
  { webhooks = 1, receiverMs = 0, nodeOptions = [] }: StageOptions = {},
): Promise<T> {
  const redis = await RedisProcess.start();
  const receiver = await ReceiverProcess.start();
  const sender = await SenderProcess.start();
  try {
    const url = receiver.urlOf(receiverMs > 0 ? `after-${receiverMs}` : 'ok', STREAM);
    const receiverUrls = webhooks === 1 ? [url] : Array.from({ length: webhooks }, (_, i) => `${url}?${i}`);
    const pair = await contender.start({ redisUrl: redis.url, receiverUrls, nodeOptions });
    try {
      return await work({ redis, receiver, sender, pair });
    } finally {
      await pair.stop();
    }
  } finally {
    sender.stop();
    receiver.stop();
    await redis.stop();
  }
}

/** Starts all contenders, each on a stage of its own. */
export async function onStages<T>(
  contenders: readonly PathContender[],
  work: (stages: readonly Stage[]) => Promise<T>,
  options: StageOptions = {},
): Promise<T> {
  const [next, ...others] = contenders;
  if (!next) return await work([]);
  return await onStage(
    next,
    (stage) => onStages(others, (stages) => work([stage, ...stages]), options),
    options,
  );
}

/** Works on one stage after the other. */
export async function inTurn<T>(
  stages: readonly Stage[],
  work: (stage: Stage) => Promise<T>,
): Promise<readonly T[]> {
  const results: T[] = [];
  for (const stage of stages) results.push(await work(stage));
  return results;
}
