import { setTimeout as wait } from 'node:timers/promises';
import { until } from '../../support/until';
import { BULK_TYPE, namesOfOrdered } from '../endpoints';
import type { FaultScene } from '../fault-scene';
import { groupByPair, isAccepted, type ReceivedRequest } from '../ledger';
import { during, type FaultKind, type Strike } from './fault-kind';
import { askAgain } from './history-rehydration';

const EVENTS = 60;
// A lock, and as long again until another worker has all of what the frozen one had, on a busy machine.
const TAKEN_OVER_WITHIN_MS = 60_000;
const RECORDED_WITHIN_MS = 1_000;

/** What a stalled worker has sent is recorded after its delivery was asked for once more. */
export const lateSuccess: FaultKind = {
  name: 'late-success',
  what: 'one worker is stopped past its lock, another one delivers what it had under way, and that is asked for once more before the first one goes on',
  mayRepeat: true,
  usualCount: 8,
  isLong: true,
  inject: askDuringStall,
};

async function askDuringStall(scene: FaultScene): Promise<Strike> {
  const { service, publisher, receivers, random, resends } = scene;
  const victim = random.pick(service.workers);
  const from = receivers.requests.length;
  const published = publisher.burst(BULK_TYPE, EVENTS);
  await until(async () => (receivers.requests.length > from + EVENTS ? true : undefined));
  return await during(victim.name, async () => {
    victim.freeze();
    try {
      await published;
      const giveUpAt = Date.now() + TAKEN_OVER_WITHIN_MS;
      const isTakenOver = () => sentTwice(scene, from).length > 0 || Date.now() > giveUpAt;
      await until(async () => isTakenOver() || undefined);
      await wait(RECORDED_WITHIN_MS);
      const twice = sentTwice(scene, from);
      const asked = await Promise.all(twice.map((request) => askAgain(scene, request)));
      resends.push(...asked.filter((resend) => resend !== undefined));
    } finally {
      victim.thaw();
    }
  });
}

/** What two workers have sent, each once. */
function sentTwice({ receivers, specs }: FaultScene, from: number): readonly ReceivedRequest[] {
  const ordered = namesOfOrdered(specs);
  const recent = receivers.requests.slice(from).filter((request) => !ordered.has(request.endpoint));
  const groups = [...groupByPair(recent.filter(isAccepted)).values()];
  return groups.flatMap((group) => (group.length > 1 ? (group.at(-1) ?? []) : []));
}
