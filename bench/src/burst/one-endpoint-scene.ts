import type { Behaviour } from '../traffic/receiver';
import { type Scene, secondsSince } from './scene';
import { addAccount, inBatches, publishAll } from './world';

export interface OneEndpointOptions {
  readonly name: string;
  readonly behaviour: Behaviour;
  readonly events: number;
  /** When it is over in any case. */
  readonly limitSeconds: number;
}

/** Many events for one endpoint, published as fast as the API takes them. */
export function oneEndpointScene({ name, behaviour, events, limitSeconds }: OneEndpointOptions): Scene {
  return {
    name,

    async prepare(world) {
      const { receiver } = world;
      const { target } = await addAccount(world, 'many', receiver.urlOf(behaviour, 'many'));
      const batches = inBatches(target, events);
      return async () => {
        const startedAt = performance.now();
        await publishAll(world, batches);
        const publishedInS = secondsSince(startedAt);
        await receiver.waitFor('many', events, (limitSeconds - publishedInS) * 1_000);
        const received = await receiver.count('many');
        return {
          published_in_s: publishedInS,
          received,
          received_per_s: received / secondsSince(startedAt),
        };
      };
    },
  };
}
