import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { EVENT_TYPE, micros } from '../traffic/events';
import { pushEvents } from '../traffic/push-events';
import type { Behaviour } from '../traffic/receiver';
import type { Batch } from '../traffic/sender';
import { addAccount, inBatches, publishAll, secondsSince, type World } from './world';

/** What else there is to know of a scene, by a name that says its unit. */
export type Facts = Readonly<Record<string, number>>;

/** A kind of trouble that others may notice. */
export interface Scene {
  readonly name: string;
  /**
   * Makes all ready in a new world.
   * @returns what makes the trouble, and resolves when it is over
   */
  prepare(world: World): Promise<() => Promise<Facts>>;
}

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
    ['misbehaving', misbehavingScene({ endpoints: short ? 50 : 500, seconds: short ? 5 : 30 })],
  ]);
}

interface OneEndpointOptions {
  readonly name: string;
  readonly behaviour: Behaviour;
  readonly events: number;
  /** When it is over in any case. */
  readonly limitSeconds: number;
}

/** Many events for one endpoint, published as fast as the API takes them. */
function oneEndpointScene({ name, behaviour, events, limitSeconds }: OneEndpointOptions): Scene {
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

interface AccountsOptions {
  readonly accounts: number;
  readonly eventsEach: number;
  readonly limitSeconds: number;
}

/** A batch of each of many accounts, all at once. */
function accountsScene({ accounts, eventsEach, limitSeconds }: AccountsOptions): Scene {
  const names = Array.from({ length: accounts }, (_, i) => `account-${i}`);
  return {
    name: `${accounts} accounts with ${eventsEach} events each, at once`,

    async prepare(world) {
      const batches: Batch[] = [];
      for (const name of names) {
        const { target } = await addAccount(world, name, world.receiver.urlOf('ok', name));
        batches.push({ target, firstEvent: 0, events: eventsEach });
      }
      return async () => {
        const startedAt = performance.now();
        await publishAll(world, batches);
        const publishedInS = secondsSince(startedAt);
        await waitForAll(world, names, eventsEach, startedAt + limitSeconds * 1_000);
        const takenInS = secondsSince(startedAt);
        return { published_in_s: publishedInS, drained_in_s: takenInS, ...(await fairnessOf(world, names)) };
      };
    },
  };
}

async function waitForAll(
  world: World,
  names: readonly string[],
  each: number,
  until: number,
): Promise<void> {
  for (const name of names) await world.receiver.waitFor(name, each, Math.max(until - performance.now(), 0));
}

/** How alike the accounts' shares of the first half of all deliveries are. */
async function fairnessOf({ receiver }: World, names: readonly string[]): Promise<Facts> {
  const all: { readonly name: string; readonly at: number }[] = [];
  for (const name of names) all.push(...(await receiver.list(name)).at.map((at) => ({ name, at })));
  const firstHalf = all.sort((a, b) => a.at - b.at).slice(0, Math.floor(all.length / 2));
  const shares = new Map(names.map((name) => [name, 0]));
  for (const { name } of firstHalf) shares.set(name, (shares.get(name) ?? 0) + 1);
  return { received: all.length, jain_first_half: jainIndex([...shares.values()]) };
}

/** 1 when all have the same, 1/n when one of n has all (Jain, Chiu and Hawe 1984). */
function jainIndex(shares: readonly number[]): number {
  const sum = shares.reduce((total, share) => total + share, 0);
  const squares = shares.reduce((total, share) => total + share * share, 0);
  return (sum * sum) / (shares.length * squares);
}

// The highest that the API takes.
const RATE = 1_000;

interface ReplayOptions {
  readonly events: number;
  readonly limitSeconds: number;
}

/** All that an endpoint was sent is sent to it again, as fast as that may be asked for. */
function replayScene({ events, limitSeconds }: ReplayOptions): Scene {
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

interface OutageOptions {
  readonly events: number;
  readonly limitSeconds: number;
}

// The others had an attempt that failed, and come when their schedule says so.
const SHARE_RELEASED = 0.99;

/** An endpoint that refused everything for a while is mended, and gets what was published meanwhile. */
function outageScene({ events, limitSeconds }: OutageOptions): Scene {
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

interface QueueOptions {
  readonly events: number;
  readonly limitSeconds: number;
}

/** A producer of the house pushes events straight onto the queue, past the API. */
function queueScene({ events, limitSeconds }: QueueOptions): Scene {
  return {
    name: `${events} events pushed onto the queue`,

    async prepare(world) {
      const { receiver, redis } = world;
      await addAccount(world, 'pushed', receiver.urlOf('ok', 'pushed'));
      return async () => {
        const startedAt = performance.now();
        await pushEvents({ redisUrl: redis.url, accountId: 'pushed', firstEvent: 0, events });
        const pushedInS = secondsSince(startedAt);
        await receiver.waitFor('pushed', events, limitSeconds * 1_000);
        const received = await receiver.count('pushed');
        return { pushed_in_s: pushedInS, received, received_per_s: received / secondsSince(startedAt) };
      };
    },
  };
}

interface HangingOptions {
  readonly endpoints: number;
  readonly perSecondEach: number;
  readonly seconds: number;
}

/** Endpoints that were quick and are busy begin to hang, all in the same moment. */
function hangingScene({ endpoints, perSecondEach, seconds }: HangingOptions): Scene {
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

interface MisbehavingOptions {
  readonly endpoints: number;
  readonly seconds: number;
}

// They belong to the tests, and so are not compiled.
const RECEIVERS = join(__dirname, '../../../e2e/receivers/receivers-process.ts');
// Each event makes a delivery for every endpoint, beside those that are tried again.
const EVENT_EVERY_MS = 5_000;

/** Endpoints that misbehave in all the ways of the tests' catalogue. */
function misbehavingScene({ endpoints, seconds }: MisbehavingOptions): Scene {
  return {
    name: `${endpoints} endpoints that misbehave, each in its way`,

    async prepare({ service, troubleSender }) {
      const receivers = fork(RECEIVERS, { execArgv: ['--require', 'esbuild-register'] });
      const urls = await openAll(receivers);
      await service.createAccount('misbehaving');
      for (let i = 0; i < endpoints; i += 1)
        await service.register('misbehaving', `${urls[i % urls.length]}/${i}`, EVENT_TYPE);
      return async () => {
        const target = service.targetOf('misbehaving');
        const stream = { stream: 'misbehaving', target, firstEvent: 0, perSecond: 1_000 / EVENT_EVERY_MS };
        await troubleSender.startStream(stream);
        await wait(seconds * 1_000);
        const sentAt = await troubleSender.stopStream('misbehaving');
        receivers.disconnect();
        return { kinds: urls.length, deliveries: sentAt.length * endpoints };
      };
    },
  };
}

/** @returns the URL of a receiver of each kind */
async function openAll(receivers: ChildProcess): Promise<readonly string[]> {
  const [{ kinds }] = (await once(receivers, 'message')) as [
    { readonly kinds: readonly { readonly name: string }[] },
  ];
  const urls: string[] = [];
  for (const { name } of kinds) {
    receivers.send({ do: 'start', name });
    const [{ url }] = (await once(receivers, 'message')) as [{ readonly url: string }];
    urls.push(url);
  }
  return urls;
}
