import { setTimeout as wait } from 'node:timers/promises';
import type { Scene } from './scene';
import { addAccount } from './world';

export interface HangingOptions {
  readonly endpoints: number;
  readonly perSecondEach: number;
  readonly seconds: number;
}

/** Endpoints that were quick and are busy begin to hang, all in the same moment. */
export function hangingScene({ endpoints, perSecondEach, seconds }: HangingOptions): Scene {
  return {
    name: `${endpoints} quick endpoints with ${perSecondEach}/s each begin to hang`,

    async prepare(world) {
      const { receiver, troubleSender } = world;
      for (let i = 0; i < endpoints; i += 1) {
        const stream = `quick-${i}`;
        const { target } = await addAccount(world, stream, receiver.urlOf('switched', stream));
        await troubleSender.startStream({ stream, target, firstEvent: 0, perSecond: perSecondEach });
      }
      return async () => {
        await receiver.switchTo('hang');
        await wait(seconds * 1_000);
        await receiver.switchTo('ok');
        return {};
      };
    },
  };
}
