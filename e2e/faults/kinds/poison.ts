import { setTimeout as wait } from 'node:timers/promises';
import { askPatiently } from '../ask-patiently';
import { toFindings } from '../checks/finding';
import type { FaultScene } from '../fault-scene';
import { during, type Strike } from './fault-kind';

const LOOK_EVERY_MS = 250;
const LOOKS = 240;

const poisonous: readonly { readonly name: string; readonly data: unknown }[] = [
  { name: 'brief.imagined', data: { account_id: 'default', type: 'brief.imagined', data: {} } },
  { name: 'brief.created', data: { account_id: 'default', type: 'brief.created', data: { brief_id: 7 } } },
  { name: 'brief.created', data: { type: 'brief.created' } },
  { name: 'brief.created', data: 'not an object' },
  { name: 'brief.created', data: null },
  { name: '', data: { account_id: 'default', type: 'keyword.quick_win', data: ['x'.repeat(300_000)] } },
];

interface DeadLetters {
  readonly data: readonly { readonly id: string }[];
}

/** Pushes jobs that nobody can deliver, and takes each away again as the dead letter that it has become. */
export async function poison({ service, checkLater }: FaultScene): Promise<Strike> {
  return await during('the queue', async () => {
    for (const { name, data } of poisonous) await service.pushOntoQueue(name, data);
    checkLater(async () => {
      const left = poisonous.length - (await dropDeadLetters(service.client, poisonous.length));
      return toFindings('poison jobs that became no dead letters', Array<string>(left).fill('one'));
    });
    await wait(LOOK_EVERY_MS);
  });
}

async function dropDeadLetters(client: FaultScene['service']['client'], wanted: number): Promise<number> {
  let dropped = 0;
  for (let look = 0; dropped < wanted && look < LOOKS; look += 1) {
    const { body } = await askPatiently<DeadLetters>(
      client,
      200,
      'GET',
      `/v1/dead-letters?limit=${wanted - dropped}`,
    );
    for (const { id } of body.data) {
      await askPatiently(client, 204, 'DELETE', `/v1/dead-letters/${encodeURIComponent(id)}`);
      dropped += 1;
    }
    if (body.data.length === 0) await wait(LOOK_EVERY_MS);
  }
  return dropped;
}
