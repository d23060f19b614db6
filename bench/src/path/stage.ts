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

/** The receiver's stream that all events of the one endpoint come in. */
export const STREAM = 'path';

/** Starts the contender with a new Redis, and ends all of it afterwards. */
export async function onStage<T>(
  contender: PathContender,
  work: (stage: Stage) => Promise<T>,
  nodeOptions: readonly string[] = [],
): Promise<T> {
  const redis = await RedisProcess.start();
  const receiver = await ReceiverProcess.start();
  const sender = await SenderProcess.start();
  try {
    const receiverUrl = receiver.urlOf('ok', STREAM);
    const pair = await contender.start({ redisUrl: redis.url, receiverUrl, nodeOptions });
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
