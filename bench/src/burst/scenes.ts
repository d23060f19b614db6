import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { micros } from '../traffic/events';
import { pushEvents } from '../traffic/push-events';
import type { Behaviour } from '../traffic/receiver';
import type { Batch } from '../traffic/sender';
import { addAccount, inBatches, publishAll, type World } from './world';

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
  const limitMs = short ? 30_000 : 90_000;
  // What takes longer than anybody waits: it is the others that this is about. The long one is longer than the time-out of
  // 15 s, so that attempts at `silent` come to their end as well.
  const endlessMs = short ? 8_000 : 30_000;
  const [many, slow, silent] = short ? [3_000, 1_000, 1_000] : [20_000, 5_000, 3_000];
  return new Map([
    ['one', oneEndpointScene(`${many} events for one endpoint`, 'ok', many, limitMs)],
    ['slow', oneEndpointScene(`${slow} for one that responds after 1 s`, 'slow', slow, endlessMs)],
    ['silent', oneEndpointScene(`${silent} for one that never responds`, 'hang', silent, endlessMs)],
    ['accounts', short ? accountsScene(20, 50, limitMs) : accountsScene(100, 200, limitMs)],
    ['replay', replayScene(short ? 1_000 : 5_000, limitMs)],
    ['outage', outageScene(short ? 2_000 : 10_000, limitMs)],
    ['queue', queueScene(short ? 1_000 : 5_000, limitMs)],
    ['hanging', hangingScene(8, 25, short ? 5_000 : 20_000)],
    ['misbehaving', short ? misbehavingScene(50, 5_000) : misbehavingScene(500, 30_000)],
  ]);
}

function secondsSince(startedAt: number): number {
  return (performance.now() - startedAt) / 1_000;
}

interface Expected {
  readonly stream: string;
  readonly events: number;
  readonly startedAt: number;
  readonly limitMs: number;
  /** How many had come before it all began. */
  readonly before?: number;
}

/** What has come when all have, or the time is up. */
async function countReceived(
  { receiver }: World,
  { stream, events, startedAt, limitMs, before = 0 }: Expected,
): Promise<Facts> {
  await receiver.waitFor(stream, before + events, startedAt + limitMs - performance.now());
  const received = (await receiver.count(stream)) - before;
  return { received, received_per_s: received / secondsSince(startedAt) };
}

/** Many events for one endpoint, published as fast as the API takes them. It is over after `limitMs` in any case. */
function oneEndpointScene(name: string, behaviour: Behaviour, events: number, limitMs: number): Scene {
  return {
    name,

    async prepare(world) {
      const { target } = await addAccount(world, 'many', world.receiver.urlOf(behaviour, 'many'));
      const batches = inBatches(target, events);
      return async () => {
        const startedAt = performance.now();
        await publishAll(world, batches);
        const publishedInS = secondsSince(startedAt);
        const received = await countReceived(world, { stream: 'many', events, startedAt, limitMs });
        return { published_in_s: publishedInS, ...received };
      };
    },
  };
}

/** A batch of each of many accounts, all at once. */
function accountsScene(accounts: number, eventsEach: number, limitMs: number): Scene {
  const names = Array.from({ length: accounts }, (_, i) => `account-${i}`);
  return {
    name: `${accounts} accounts with ${eventsEach} events each, at once`,

    async prepare(world) {
      const { receiver } = world;
      const batches: Batch[] = [];
      for (const name of names) {
        const { target } = await addAccount(world, name, receiver.urlOf('ok', name));
        batches.push({ target, firstEvent: 0, events: eventsEach });
      }
      return async () => {
        const startedAt = performance.now();
        await publishAll(world, batches);
        const publishedInS = secondsSince(startedAt);
        const left = () => Math.max(startedAt + limitMs - performance.now(), 0);
        for (const name of names) await receiver.waitFor(name, eventsEach, left());
        const drainedInS = secondsSince(startedAt);
        return {
          published_in_s: publishedInS,
          drained_in_s: drainedInS,
          ...(await fairnessOf(world, names)),
        };
      };
    },
  };
}

/** How alike the accounts' shares of the first half of all deliveries are. */
async function fairnessOf({ receiver }: World, names: readonly string[]): Promise<Facts> {
  const all: { readonly name: string; readonly at: number }[] = [];
  for (const name of names) all.push(...(await receiver.ask('list', name)).at.map((at) => ({ name, at })));
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

/** All that an endpoint was sent is sent to it again, as fast as that may be asked for. */
function replayScene(events: number, limitMs: number): Scene {
  return {
    name: `a replay of ${events} events`,

    async prepare(world) {
      const { receiver, service } = world;
      const { target, webhookId } = await addAccount(world, 'replay', receiver.urlOf('ok', 'replay'));
      await publishAll(world, inBatches(target, events));
      await receiver.waitForAll('replay', events, limitMs);
      return async () => {
        const startedAt = performance.now();
        const order = { since: '2020-01-01T00:00:00Z', mode: 'all', rate: RATE };
        await service.ask('replay', 'POST', `/v1/webhooks/${webhookId}/replays`, order);
        return await countReceived(world, { stream: 'replay', events, startedAt, limitMs, before: events });
      };
    },
  };
}

// The others had an attempt that failed, and come when their schedule says so.
const SHARE_RELEASED = 0.99;

/** An endpoint that refused everything for a while is mended, and gets what was published meanwhile. */
function outageScene(events: number, limitMs: number): Scene {
  return {
    name: `a release of ${events} events after an outage`,

    async prepare(world) {
      const { receiver } = world;
      const plainPerSecond = await measurePlainDrain(world, events, limitMs);
      const { target } = await addAccount(world, 'outage', receiver.urlOf('switched', 'outage'));
      await receiver.ask('switchTo', 'fail');
      await publishAll(world, inBatches(target, events));
      return async () => {
        const mendedAt = micros();
        await receiver.ask('switchTo', 'ok');
        const released = Math.ceil(events * SHARE_RELEASED);
        await receiver.waitFor('outage', released, limitMs);
        const { at } = await receiver.ask('list', 'outage');
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
async function measurePlainDrain(world: World, events: number, limitMs: number): Promise<number> {
  const { service, receiver } = world;
  const { target } = await addAccount(world, 'drain', receiver.urlOf('ok', 'drain'));
  await service.stopWorker();
  await publishAll(world, inBatches(target, events));
  service.startWorker();
  await receiver.waitForAll('drain', events, limitMs);
  const { at } = await receiver.ask('list', 'drain');
  return (events / ((at[events - 1] ?? Number.NaN) - (at[0] ?? Number.NaN))) * 1_000_000;
}

/** A producer of the house pushes events straight onto the queue, past the API. */
function queueScene(events: number, limitMs: number): Scene {
  return {
    name: `${events} events pushed onto the queue`,

    async prepare(world) {
      const { receiver, redis } = world;
      await addAccount(world, 'pushed', receiver.urlOf('ok', 'pushed'));
      return async () => {
        const startedAt = performance.now();
        await pushEvents({ redisUrl: redis.url, accountId: 'pushed', firstEvent: 0, events });
        const pushedInS = secondsSince(startedAt);
        const received = await countReceived(world, { stream: 'pushed', events, startedAt, limitMs });
        return { pushed_in_s: pushedInS, ...received };
      };
    },
  };
}

/** Endpoints that were quick and are busy begin to hang, all in the same moment. */
function hangingScene(endpoints: number, perSecond: number, lastingMs: number): Scene {
  return {
    name: `${endpoints} quick endpoints with ${perSecond}/s each begin to hang`,

    async prepare(world) {
      const { receiver, troubleSender } = world;
      for (let i = 0; i < endpoints; i += 1) {
        const stream = `quick-${i}`;
        const { target } = await addAccount(world, stream, receiver.urlOf('switched', stream));
        await troubleSender.ask('startStream', { stream, target, firstEvent: 0, perSecond });
      }
      return async () => {
        await receiver.ask('switchTo', 'hang');
        await wait(lastingMs);
        await receiver.ask('switchTo', 'ok');
        return {};
      };
    },
  };
}

// They belong to the tests, and so are not compiled.
const RECEIVERS = join(__dirname, '../../../e2e/receivers/receivers-process.ts');
// Each event makes a delivery for every endpoint, beside those that are tried again.
const EVENT_EVERY_MS = 5_000;

/** Endpoints that misbehave in all the ways of the tests' catalogue. */
function misbehavingScene(endpoints: number, lastingMs: number): Scene {
  const stream = 'misbehaving';
  return {
    name: `${endpoints} endpoints that misbehave, each in its way`,

    async prepare({ service, troubleSender }) {
      const receivers = fork(RECEIVERS, { execArgv: ['--require', 'esbuild-register'] });
      const urls = await openAll(receivers);
      await service.createAccount(stream);
      for (let i = 0; i < endpoints; i += 1) await service.register(stream, `${urls[i % urls.length]}/${i}`);
      return async () => {
        const target = service.targetOf(stream);
        const perSecond = 1_000 / EVENT_EVERY_MS;
        await troubleSender.ask('startStream', { stream, target, firstEvent: 0, perSecond });
        await wait(lastingMs);
        const sentAt = await troubleSender.ask('stopStream', stream);
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
