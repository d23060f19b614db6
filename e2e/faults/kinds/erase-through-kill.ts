import { setTimeout as wait } from 'node:timers/promises';
import { askPatiently } from '../ask-patiently';
import { toFindings } from '../checks/finding';
import type { FaultScene } from '../fault-scene';
import { during, type Strike } from './fault-kind';

const ENDPOINTS = 3;
const BATCHES = 2;
const BATCH_SIZE = 50;
// Fifteen seconds at least are promised; a worker that was killed adds twice JOB_LOCK_DURATION.
const LOOK_EVERY_MS = 500;
const LOOKS = 180;

/** An account whose deliveries all fail is erased, and what does that dies in the middle. */
export async function eraseThroughKill({
  service,
  receivers,
  random,
  checkLater,
}: FaultScene): Promise<Strike> {
  const account = `gone-${random.between(1, 1_000_000_000)}`;
  await fillAccount(service.client, account, receivers.urlOf('nobody'));
  await askPatiently(service.client, 202, 'DELETE', `/v1/accounts/${account}`);
  checkLater(async () => toFindings('not erased', await findRemains(service, account)));
  await wait(random.between(0, 3_000));
  const [worker, api] = [random.pick(service.workers), random.pick(service.apis)];
  const strike = await during(`${worker.name}, ${api.name}`, async () => {
    await Promise.all([worker.end('SIGKILL'), api.end('SIGKILL')]);
  });
  await Promise.all([worker.start(), api.start()]);
  return strike;
}

async function fillAccount(
  client: FaultScene['service']['client'],
  account: string,
  url: string,
): Promise<void> {
  const asAccount = { 'x-account-id': account };
  await askPatiently(client, 201, 'POST', '/v1/accounts', { id: account });
  for (let i = 0; i < ENDPOINTS; i += 1) {
    await askPatiently(client, 201, 'POST', '/v1/webhooks', { url, events: ['*'] }, asAccount);
  }
  const event = { type: 'keyword.quick_win', data: { keyword: account, position: 3, volume: 10 } };
  const events = Array.from({ length: BATCH_SIZE }, () => event);
  for (let i = 0; i < BATCHES; i += 1) {
    await askPatiently(client, 207, 'POST', '/v1/events/batch', { events }, asAccount);
  }
}

/** What is left when the API says that it is gone; or that it never said so. */
async function findRemains(service: FaultScene['service'], account: string): Promise<readonly string[]> {
  for (let look = 0; look < LOOKS; look += 1) {
    const { status } = await service.client.request('GET', `/v1/accounts/${account}`);
    if (status === 404) return await service.findKeys(`*${account}[}/:.]*`);
    await wait(LOOK_EVERY_MS);
  }
  return [`${account} is still being erased`];
}
