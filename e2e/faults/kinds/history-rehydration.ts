import { setTimeout as wait } from 'node:timers/promises';
import { namesOfOrdered } from '../endpoints';
import type { FaultScene } from '../fault-scene';
import { letAllLapse } from '../history/check-history';
import { isAccepted, type ReceivedRequest, type Resend } from '../ledger';
import { during, type Strike } from './fault-kind';

const DELIVERIES = 24;
const TRIES = 30;
const TRY_AGAIN_AFTER_MS = 500;
const ASKED_WITHIN_MS = 1_500;
// What was accepted so long before has ended, and has moved or is just about to.
const OVER_FOR_MS = 1_500;

/** Each is to be sent once more, and to move once more. */
export async function rehydrateThroughKill(scene: FaultScene): Promise<Strike> {
  const { service, random, resends } = scene;
  const chosen = choose(scene);
  if (random.pick([true, false])) await letAllLapse(service);
  const asked = Promise.all(
    chosen.map(async (request) => {
      await wait(random.between(0, ASKED_WITHIN_MS));
      const resend = await askAgain(scene, request);
      if (resend) resends.push(resend);
    }),
  );
  await wait(random.between(0, ASKED_WITHIN_MS));
  const strike = await random.pick([killProcess, killPostgres])(scene);
  await asked;
  return strike;
}

async function killProcess({ service, random }: FaultScene): Promise<Strike> {
  const victim = random.pick([...service.workers, ...service.apis]);
  const strike = await during(victim.name, () => victim.end('SIGKILL'));
  await victim.start();
  return strike;
}

async function killPostgres({ service: { history }, random }: FaultScene): Promise<Strike> {
  return await during('PostgreSQL', async () => {
    await history.crash();
    await wait(random.between(200, 2_000));
    await history.mend();
  });
}

function choose({ receivers, registered, resends, random, specs }: FaultScene): readonly ReceivedRequest[] {
  const before = Date.now() - OVER_FOR_MS;
  const known = new Set(registered.map(({ spec }) => spec.name));
  const done = new Set(resends.map(({ eventId, endpoint }) => `${eventId} at ${endpoint}`));
  // Once is enough for each.
  const ordered = namesOfOrdered(specs);
  const all = receivers.requests.filter(
    (request) =>
      isAccepted(request) &&
      request.endedAt < before &&
      known.has(request.endpoint) &&
      !ordered.has(request.endpoint) &&
      !done.has(`${request.eventId} at ${request.endpoint}`),
  );
  const chosen = new Map<string, ReceivedRequest>();
  for (let i = 0; i < DELIVERIES && all.length > 0; i += 1) {
    const request = random.pick(all);
    chosen.set(`${request.eventId} at ${request.endpoint}`, request);
  }
  return [...chosen.values()];
}

/** Ask for a delivery once more: under one key, so that it is done once. `undefined`: it can't be asked for now. */
export async function askAgain(
  scene: Pick<FaultScene, 'service' | 'registered'>,
  { eventId, endpoint }: ReceivedRequest,
): Promise<Resend | undefined> {
  const { service, registered } = scene;
  const webhookId = registered.find(({ spec }) => spec.name === endpoint)?.webhookId ?? '';
  const headers = { 'idempotency-key': `again-${eventId}-${endpoint}` };
  const delivery = `/v1/deliveries/${eventId}.${webhookId}`;
  const path = `${delivery}/redeliver`;
  const known = await service.client
    .request<{ readonly status: string }>('GET', delivery)
    .catch(() => undefined);
  // A worker that can't reach Redis records later what was accepted: until then this would be the attempt asked for. An API
  // that is just being killed does not tell.
  if (known === undefined || known.status >= 500) return undefined;
  if (known.status === 200 && known.body.status !== 'delivered') return undefined;
  const askedAt = Date.now();
  let isAcknowledged = false;
  for (let tries = 0; !isAcknowledged && tries < TRIES; tries += 1) {
    const response = await service.client.request('POST', path, undefined, headers).catch(() => undefined);
    isAcknowledged = response?.status === 202;
    if (response?.status === 404) throw new Error(`${path} is not found, though it was delivered.`);
    // Its payload was erased: there is nothing to send.
    if (response?.status === 409 && JSON.stringify(response.body).includes('payload_erased')) break;
    if (!isAcknowledged) await wait(TRY_AGAIN_AFTER_MS);
  }
  return { eventId, endpoint, askedAt, isAcknowledged };
}
