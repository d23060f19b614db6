import { setTimeout as wait } from 'node:timers/promises';
import { BATCH, BULK_TYPE, COALESCE, codeOf, SPARSE_TYPE, TRANSFORMED } from '../endpoints';
import type { FaultScene } from '../fault-scene';
import { putCode } from '../register-endpoints';
import { eraseThroughKill } from './erase-through-kill';
import { during, type FaultKind, type Strike } from './fault-kind';
import { poison } from './poison';
import { replayThroughKill } from './replay-through-kill';

const COPIES = 100;
const CRASHES = 3;
const SCHEDULED = 60;
// All of them are due within this, so that the kill comes at any of their steps.
const DUE_WITHIN_MS = 3_000;
// Four requests of a webhook that gets several events in one.
const BATCHED = 4 * BATCH.max_events;
const GROUPS = 6;
const EVENTS_OF_A_GROUP = 10;
const MADE_BY_CODE = 60;
const CODE_CHANGES = 3;
// From the first event that is accepted until the last one is recorded, on a quiet machine.
const WORK_MS = 800;

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
    name: 'batch-kill',
    what: `${BATCHED} events are published at once, and a worker is killed while some go in one request: they wait for each other, are taken, are sent, get their response, or are recorded`,
    mayRepeat: true,
    usualCount: 8,
    inject: batchThroughKill,
  },
  {
    name: 'group-kill',
    what: `${GROUPS} groups of ${EVENTS_OF_A_GROUP} events are published at once, each in its order, and a worker is killed while they wait for each other, newer ones take the place of older ones, or they are sent or recorded`,
    mayRepeat: true,
    usualCount: 8,
    inject: groupsThroughKill,
  },
  {
    name: 'transform-kill',
    what: `${MADE_BY_CODE} events are published at once, and a worker is killed while the code of a webhook makes what is sent, and is changed`,
    mayRepeat: true,
    usualCount: 8,
    inject: transformThroughKill,
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

async function batchThroughKill({ service, publisher, random }: FaultScene): Promise<readonly Strike[]> {
  const published = publisher.burst(BULK_TYPE, BATCHED);
  await wait(random.between(0, BATCH.max_wait_ms + WORK_MS));
  const strike = await killOneWorker({ service, random });
  await published;
  return [strike];
}

async function groupsThroughKill({ service, publisher, random }: FaultScene): Promise<readonly Strike[]> {
  const published = publisher.publishGroups(GROUPS, EVENTS_OF_A_GROUP);
  await wait(random.between(0, COALESCE.window_ms + WORK_MS));
  const strike = await killOneWorker({ service, random });
  await published;
  return [strike];
}

// Each attempt sends what was made once, whatever the code is by then: the check of the bodies compares.
async function transformThroughKill(scene: FaultScene): Promise<readonly Strike[]> {
  const { service, publisher, registered, random } = scene;
  const webhookId = registered.find(({ spec }) => spec.name === TRANSFORMED)?.webhookId ?? '';
  const published = publisher.burst(BULK_TYPE, MADE_BY_CODE);
  const changes = Promise.all(
    Array.from({ length: CODE_CHANGES }, async () => {
      await wait(random.between(0, WORK_MS));
      await putCode(service.client, webhookId, codeOf(random.between(2, 1_000_000)));
    }),
  );
  const killed = wait(random.between(0, WORK_MS)).then(() => killOneWorker(scene));
  // Together: what fails first ends this run, and not the whole suite.
  const [strike] = await Promise.all([killed, published, changes]);
  return [strike];
}

async function killOneWorker({ service, random }: Pick<FaultScene, 'service' | 'random'>): Promise<Strike> {
  const worker = random.pick(service.workers);
  const startedAt = Date.now();
  await worker.end('SIGKILL');
  const endedAt = Date.now();
  await worker.start();
  return { victim: worker.name, startedAt, endedAt };
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
