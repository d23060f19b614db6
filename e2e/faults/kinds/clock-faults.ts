import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { toFindings } from '../checks/finding';
import type { FaultScene } from '../fault-scene';
import type { ServiceProcess } from '../service-process';
import { during, type FaultKind } from './fault-kind';

const MINUTES_OFF_MS = 5 * 60_000;
const SECONDS_OFF_MS = 30_000;
// Longer than anything is kept: by such a clock all records would be too old.
const DAYS_OFF_MS = 15 * 86_400_000;
// A process looks every five seconds or so.
const LOOKED_WITHIN_MS = 8_000;
const TOLD_WITHIN_MS = 15_000;
const LOOK_EVERY_MS = 50;

const directions = [
  { name: 'ahead', sign: 1 },
  { name: 'behind', sign: -1 },
] as const;

/** The clock of a machine is wrong, while that of Redis is right. */
export const clockFaults: readonly FaultKind[] = directions.flatMap(({ name, sign }): FaultKind[] => [
  {
    name: `worker-clock-${name}`,
    what: `the clock of one worker is five minutes ${name} for five to eight seconds: it sends nothing and says so`,
    mayRepeat: false,
    usualCount: 3,
    inject: async (scene) => {
      const victim = scene.random.pick(scene.service.workers);
      return await during(victim.name, async () => {
        await setClock(scene, victim, sign * MINUTES_OFF_MS);
        await wait(scene.random.between(5_000, 8_000));
        await setRight(scene, victim);
      });
    },
  },
  {
    name: `api-clock-${name}`,
    what: `the clock of one API is half a minute ${name}, and then 15 days: it says so, and then accepts nothing`,
    mayRepeat: false,
    usualCount: 3,
    inject: async (scene) => {
      const victim = scene.random.pick(scene.service.apis);
      return await during(victim.name, async () => {
        await setClock(scene, victim, sign * SECONDS_OFF_MS);
        await wait(scene.random.between(1_000, 2_000));
        await setClock(scene, victim, sign * DAYS_OFF_MS);
        await checkRefused(scene, victim);
        await wait(scene.random.between(1_000, 2_000));
        await setRight(scene, victim);
      });
    },
  },
]);

/** When each was set right. Before it has looked once more, it would not report the next wrong time. */
const rightSince = new WeakMap<ServiceProcess, number>();

/** Until its log says that the clock is wrong. */
async function setClock(scene: FaultScene, victim: ServiceProcess, clockMs: number): Promise<void> {
  await wait(Math.max((rightSince.get(victim) ?? 0) + LOOKED_WITHIN_MS - Date.now(), 0));
  const before = await countReports(scene, victim);
  await victim.tamper({ clockMs });
  const isTold = await within(TOLD_WITHIN_MS, async () => (await countReports(scene, victim)) > before);
  if (!isTold) report(scene, `${victim.name} did not say that its clock is ${clockMs} ms off`);
}

/** Until it is ready, which it gets by itself. */
async function setRight(scene: FaultScene, victim: ServiceProcess): Promise<void> {
  await victim.tamper({ clockMs: 0 });
  const isReady = await within(TOLD_WITHIN_MS, async () => (await statusOf(victim)) === 200);
  rightSince.set(victim, Date.now());
  if (!isReady) report(scene, `${victim.name} was not ready again after its clock was set right`);
}

/** Of an event that nobody accepts: it is of no known type. */
async function checkRefused(scene: FaultScene, { name, url }: ServiceProcess): Promise<void> {
  const response = await fetch(`${url}/v1/events`, {
    method: 'POST',
    headers: { authorization: `Bearer ${scene.service.apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ type: 'no.such_type', data: {} }),
  });
  const text = await response.text();
  const isRefused = response.status === 503 && text.includes('"clock_skewed"');
  if (!isRefused)
    report(scene, `${name} responded with ${response.status} with its clock 15 days off: ${text}`);
}

async function countReports({ service }: FaultScene, { name }: ServiceProcess): Promise<number> {
  const log = await readFile(join(service.folder, `${name.replace(' ', '-')}.log`), 'utf8');
  return log.split('"clock.skewed"').length - 1;
}

async function statusOf({ url }: ServiceProcess): Promise<number | undefined> {
  return await fetch(`${url}/readyz`).then(
    ({ status }) => status,
    () => undefined,
  );
}

async function within(ms: number, isTrue: () => Promise<boolean>): Promise<boolean> {
  const giveUpAt = Date.now() + ms;
  while (!(await isTrue())) {
    if (Date.now() > giveUpAt) return false;
    await wait(LOOK_EVERY_MS);
  }
  return true;
}

function report({ checkLater }: FaultScene, text: string): void {
  checkLater(async () => toFindings('a wrong clock', [text]));
}
