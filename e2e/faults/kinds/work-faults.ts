import { setTimeout as wait } from 'node:timers/promises';
import { BULK_TYPE, SPARSE_TYPE } from '../endpoints';
import type { FaultScene } from '../fault-scene';
import { eraseThroughKill } from './erase-through-kill';
import { during, type FaultKind, type Strike } from './fault-kind';
import { poison } from './poison';
import { replayThroughKill } from './replay-through-kill';

const COPIES = 100;
const CRASHES = 3;
const SCHEDULED = 60;
// All of them are due within this, so that the kill comes at any of their steps.
const DUE_WITHIN_MS = 3_000;

/** Work that is itself out of the ordinary, most of it hit by a kill in the middle. */
export const workFaults: readonly FaultKind[] = [
  {
    name: 'duplicate-publishes',
    what: `one event is published ${COPIES} times under its id, while an API and a worker are killed`,
    mayRepeat: true,
    usualCount: 8,
    inject: publishCopiesThroughCrash,
  },
  {
    name: 'crash-loop',
    what: `one event kills the workers ${CRASHES} times in a row: each time it arrives at its receiver`,
    mayRepeat: true,
    usualCount: 1,
    isLong: true,
    inject: crashAgainAndAgain,
  },
  {
    name: 'poison-jobs',
    what: 'jobs that are no valid events are pushed onto the queue: each becomes a dead letter, and nothing else',
    mayRepeat: false,
    usualCount: 12,
    inject: poison,
  },
  {
    name: 'replay-kill',
    what: 'a worker is killed while it replays what a new endpoint has missed',
    mayRepeat: true,
    usualCount: 4,
    inject: replayThroughKill,
  },
  {
    name: 'scheduled-kill',
    what: `${SCHEDULED} events are to be sent later, and half of them are moved; a worker and an API are killed while they are accepted, moved or due`,
    mayRepeat: true,
    usualCount: 8,
    inject: scheduleThroughKill,
  },
  {
    name: 'erasure-kill',
    what: 'a worker and an API are killed while an account with all that it owns is erased',
    mayRepeat: true,
    usualCount: 4,
    inject: eraseThroughKill,
  },
];

async function publishCopiesThroughCrash({
  service,
  publisher,
  random,
}: FaultScene): Promise<readonly Strike[]> {
  const [worker, api] = [random.pick(service.workers), random.pick(service.apis)];
  const copies = publisher.publishCopies(SPARSE_TYPE, COPIES);
  await wait(random.between(0, 60));
  const startedAt = Date.now();
  await Promise.all([worker.end('SIGKILL'), api.end('SIGKILL')]);
  const endedAt = Date.now();
  await Promise.all([worker.start(), api.start()]);
  await copies;
  return [{ victim: `${worker.name}, ${api.name}`, startedAt, endedAt }];
}

async function scheduleThroughKill(scene: FaultScene): Promise<readonly Strike[]> {
  const { service, random } = scene;
  const [worker, api] = [random.pick(service.workers), random.pick(service.apis)];
  const scheduled = Promise.all(Array.from({ length: SCHEDULED }, (_, i) => scheduleOne(scene, i % 2 === 0)));
  await wait(random.between(0, DUE_WITHIN_MS + 500));
  const startedAt = Date.now();
  await Promise.all([worker.end('SIGKILL'), api.end('SIGKILL')]);
  const endedAt = Date.now();
  await Promise.all([worker.start(), api.start()]);
  await scheduled;
  return [{ victim: `${worker.name}, ${api.name}`, startedAt, endedAt }];
}

async function scheduleOne({ service, publisher, random }: FaultScene, isMoved: boolean): Promise<void> {
  const soon = () => new Date(Date.now() + random.between(0, DUE_WITHIN_MS)).toISOString();
  const event = { ...publisher.prepare(BULK_TYPE), deliver_at: soon() };
  await publisher.publishUntilAcknowledged(event);
  if (!isMoved || event.id === undefined) return;
  // It may be due already, and the API that is asked may just have been killed.
  await service.client
    .request('PATCH', `/v1/events/${event.id}`, { deliver_at: soon() })
    .catch(() => undefined);
}

async function crashAgainAndAgain({ service, receivers, publisher }: FaultScene): Promise<readonly Strike[]> {
  const event = publisher.prepare(BULK_TYPE);
  receivers.setTrap(event.marker);
  const sent = publisher.publishUntilAcknowledged(event);
  const strikes: Strike[] = [];
  while (strikes.length < CRASHES) {
    await receivers.untilTrapped(strikes.length + 1);
    strikes.push(
      await during('workers', async () => {
        await Promise.all(service.workers.map((worker) => worker.end('SIGKILL')));
      }),
    );
    await Promise.all(service.workers.map((worker) => worker.start()));
  }
  receivers.setTrap(undefined);
  await sent;
  return strikes;
}
