import { micros } from '../traffic/micros';
import type { Scene } from './scene';
import { addAccount, inBatches, publishAll, type World } from './world';

export interface OutageOptions {
  readonly events: number;
  readonly limitSeconds: number;
}

// The others had an attempt that failed, and come when their schedule says so.
const SHARE_RELEASED = 0.99;

/** An endpoint that refused everything for a while is mended, and gets what was published meanwhile. */
export function outageScene({ events, limitSeconds }: OutageOptions): Scene {
  return {
    name: `a release of ${events} events after an outage`,

    async prepare(world) {
      const { receiver } = world;
      const plainPerSecond = await measurePlainDrain(world, { events, limitSeconds });
      const { target } = await addAccount(world, 'outage', receiver.urlOf('switched', 'outage'));
      await receiver.switchTo('fail');
      await publishAll(world, inBatches(target, events));
      return async () => {
        const mendedAt = micros();
        await receiver.switchTo('ok');
        const released = Math.ceil(events * SHARE_RELEASED);
        await receiver.waitFor('outage', released, limitSeconds * 1_000);
        const { at } = await receiver.list('outage');
        const [firstAt = Number.NaN, lastAt = Number.NaN] = [at[0], at[released - 1]];
        const perSecond = (released / (lastAt - firstAt)) * 1_000_000;
        return {
          first_after_s: (firstAt - mendedAt) / 1_000_000,
          of_99_percent_after_s: (lastAt - mendedAt) / 1_000_000,
          received: at.length,
          received_per_s: perSecond,
          plain_drain_per_s: plainPerSecond,
          rate_to_plain_drain: perSecond / plainPerSecond,
        };
      };
    },
  };
}

/** How fast as many events for one healthy endpoint go that waited for their worker to be started. */
async function measurePlainDrain(world: World, { events, limitSeconds }: OutageOptions): Promise<number> {
  const { service, receiver } = world;
  const { target } = await addAccount(world, 'drain', receiver.urlOf('ok', 'drain'));
  await service.stopWorker();
  await publishAll(world, inBatches(target, events));
  service.startWorker();
  if (!(await receiver.waitFor('drain', events, limitSeconds * 1_000)))
    throw new Error('The plain drain did not come to its end.');
  const { at } = await receiver.list('drain');
  return (events / ((at[events - 1] ?? Number.NaN) - (at[0] ?? Number.NaN))) * 1_000_000;
}
