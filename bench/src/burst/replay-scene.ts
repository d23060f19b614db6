import { type Scene, secondsSince } from './scene';
import { addAccount, inBatches, publishAll } from './world';

// The highest that the API takes.
const RATE = 1_000;

export interface ReplayOptions {
  readonly events: number;
  readonly limitSeconds: number;
}

/** All that an endpoint was sent is sent to it again, as fast as that may be asked for. */
export function replayScene({ events, limitSeconds }: ReplayOptions): Scene {
  return {
    name: `a replay of ${events} events`,

    async prepare(world) {
      const { receiver, service } = world;
      const { target, webhookId } = await addAccount(world, 'replay', receiver.urlOf('ok', 'replay'));
      await publishAll(world, inBatches(target, events));
      if (!(await receiver.waitFor('replay', events, limitSeconds * 1_000)))
        throw new Error('The events that are to be replayed were not delivered.');
      return async () => {
        const startedAt = performance.now();
        await service.replay('replay', webhookId, RATE);
        await receiver.waitFor('replay', 2 * events, limitSeconds * 1_000);
        const received = (await receiver.count('replay')) - events;
        return { received, received_per_s: received / secondsSince(startedAt) };
      };
    },
  };
}
