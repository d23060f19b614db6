import { setTimeout as wait } from 'node:timers/promises';
import { askPatiently } from '../ask-patiently';
import { SPARSE_TYPE } from '../endpoints';
import type { FaultScene } from '../fault-scene';
import { during, type Strike } from './fault-kind';

// Slow enough that a kill comes in the middle of it.
const RATE = 200;
// After this long every process knows of a new endpoint: what is published from now on is sent without a replay.
const KNOWN_AFTER_MS = 2_000;

/** A new endpoint is owed all that came before it; a worker dies while that is put onto the queue. */
export async function replayThroughKill(scene: FaultScene): Promise<Strike> {
  const { service, register, random } = scene;
  const name = `replayed-${random.between(1, 1_000_000_000)}`;
  const { webhookId } = await register({ name, events: [SPARSE_TYPE], respondsAfterMs: 0 });
  await wait(KNOWN_AFTER_MS);
  const replay = { since: '2020-01-01T00:00:00Z', mode: 'missing', rate: RATE };
  await askPatiently(service.client, 202, 'POST', `/v1/webhooks/${webhookId}/replays`, replay);
  await wait(random.between(100, 1_500));
  const victim = random.pick(service.workers);
  const strike = await during(victim.name, () => victim.end('SIGKILL'));
  await victim.start();
  return strike;
}
