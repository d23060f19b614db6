import { setTimeout as wait } from 'node:timers/promises';
import type { ApiResponse } from '../../support/api-client';
import { toFindings } from '../checks/finding';
import type { FaultScene } from '../fault-scene';
import { letAllLapse } from '../history/check-history';
import type { ServiceProcess } from '../service-process';
import { during, type Strike } from './fault-kind';

const AT_LEAST_MS = 5_000;
// Gauges that are the same for all workers are read every few seconds.
const TOLD_WITHIN_MS = 25_000;
const LOOK_EVERY_MS = 500;
// What had ended so long ago has moved, whatever HISTORY_MOVE_AFTER a life has.
const OLD_AFTER_MS = 10_000;
const OLD_ASKED_FOR = 20;
const TRIES = 40;

/** It is told of by metrics and responses, and by nothing else. */
export async function awayAndTold(scene: FaultScene): Promise<Strike> {
  const { service, random, checkLater } = scene;
  const failures: string[] = [];
  const old = oldEvents(scene);
  const strike = await during('PostgreSQL', async () => {
    await service.history.stop();
    await letAllLapse(service);
    const stoppedAt = Date.now();
    await wait(random.between(AT_LEAST_MS, AT_LEAST_MS + 4_000));
    while (!(await isBacklogTold(service.workers))) {
      if (Date.now() - stoppedAt > TOLD_WITHIN_MS) {
        failures.push(`no worker told of a backlog within ${TOLD_WITHIN_MS / 1_000} s`);
        break;
      }
      await wait(LOOK_EVERY_MS);
    }
    failures.push(...(await readWhileAway(scene, old)));
    await service.history.mend();
  });
  checkLater(async () => toFindings('a history that is away is not told of as it should be', failures));
  return strike;
}

function oldEvents({ receivers }: FaultScene): readonly string[] {
  const before = Date.now() - OLD_AFTER_MS;
  return receivers.requests
    .filter(({ endedAt, status }) => endedAt < before && status === 204)
    .slice(0, OLD_ASKED_FOR)
    .map(({ eventId }) => eventId);
}

async function isBacklogTold(workers: readonly ServiceProcess[]): Promise<boolean> {
  for (const { url } of workers) {
    const metrics = await fetch(`${url}/metrics`, { signal: AbortSignal.timeout(2_000) }).then(
      (response) => response.text(),
      () => '',
    );
    const waits = Number(/^webhooks_history_backlog (\d+)/m.exec(metrics)?.[1] ?? 0);
    const age = Number(/^webhooks_history_backlog_age_seconds ([\d.]+)/m.exec(metrics)?.[1] ?? 0);
    if (waits > 0 && age > 0) return true;
  }
  return false;
}

async function readWhileAway({ service }: FaultScene, old: readonly string[]): Promise<readonly string[]> {
  const failures: string[] = [];
  for (const id of old) {
    const { status, headers, body } = await ask(service, `/v1/events/${id}`);
    const text = JSON.stringify(body);
    const isTold =
      status === 503 && text.includes('history_unavailable') && headers.get('retry-after') !== null;
    // It was sent again, or refused.
    if (!isTold && status !== 200) failures.push(`GET of an old event gave ${status}: ${text.slice(0, 200)}`);
  }
  const { status, body } = await ask(service, '/v1/deliveries?limit=200');
  // A page may be short because it looked at many.
  const hasEnded = (body.next_cursor ?? null) === null;
  if (status !== 200) failures.push(`GET of the newest deliveries gave ${status}`);
  else if (hasEnded && body.history !== 'unavailable') {
    failures.push('a list that ends for a history that is away does not say so');
  }
  return failures;
}

interface ListView {
  readonly history?: string;
  readonly next_cursor?: string | null;
}

/** Again, if Redis or the API is recovering from an earlier fault. */
async function ask({ client }: FaultScene['service'], path: string): Promise<ApiResponse<ListView>> {
  for (let tries = 1; ; tries += 1) {
    const response = await client.request<ListView>('GET', path).catch((error: unknown) => String(error));
    const hasResponse = typeof response !== 'string';
    const isOther =
      hasResponse &&
      response.status === 503 &&
      !JSON.stringify(response.body).includes('history_unavailable');
    if (hasResponse && !isOther) return response;
    if (tries === TRIES) throw new Error(`GET ${path} gave ${hasResponse ? response.status : response}.`);
    await wait(LOOK_EVERY_MS);
  }
}
