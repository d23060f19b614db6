import { accountsScene } from './accounts-scene';
import { hangingScene } from './hanging-scene';
import { oneEndpointScene } from './one-endpoint-scene';
import { outageScene } from './outage-scene';
import { queueScene } from './queue-scene';
import { replayScene } from './replay-scene';
import type { Scene } from './scene';

/** All scenes, by the names that the command line knows them by. */
export function scenesOf(short: boolean): ReadonlyMap<string, Scene> {
  const limitSeconds = short ? 30 : 90;
  const many = short ? 3_000 : 20_000;
  const slow = short ? 1_000 : 5_000;
  const silent = short ? 1_000 : 3_000;
  return new Map([
    [
      'one',
      oneEndpointScene({
        name: `${many} events for one endpoint`,
        behaviour: 'ok',
        events: many,
        limitSeconds,
      }),
    ],
    [
      'slow',
      oneEndpointScene({
        name: `${slow} for one that answers after 1 s`,
        behaviour: 'slow',
        events: slow,
        // It takes longer than anybody waits: it is the others that this is about.
        limitSeconds: short ? 8 : 30,
      }),
    ],
    [
      'silent',
      oneEndpointScene({
        name: `${silent} for one that never answers`,
        behaviour: 'hang',
        events: silent,
        // Longer than the time-out of 15 s, so that attempts come to their end as well.
        limitSeconds: short ? 8 : 30,
      }),
    ],
    ['accounts', accountsScene({ accounts: short ? 20 : 100, eventsEach: short ? 50 : 200, limitSeconds })],
    ['replay', replayScene({ events: short ? 1_000 : 5_000, limitSeconds })],
    ['outage', outageScene({ events: short ? 2_000 : 10_000, limitSeconds })],
    ['queue', queueScene({ events: short ? 1_000 : 5_000, limitSeconds })],
    ['hanging', hangingScene({ endpoints: 8, perSecondEach: 25, seconds: short ? 5 : 20 })],
  ]);
}
