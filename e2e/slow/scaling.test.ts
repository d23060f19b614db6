import { publishWithoutEnd } from '../support/publish-without-end';
import { Receiver } from '../support/receiver';
import { Stack } from '../support/stack';

const PAUSE_MS = 10;
const ENDPOINTS = 10;
const STEP = 60;

let stack: Stack;
beforeAll(async () => {
  // Nobody dies here: on a busy machine a shorter lock could be lost, and the job taken over while it is under way.
  stack = await Stack.start({ workers: 1, environment: { JOB_LOCK_DURATION: '30s' } });
});
afterAll(() => stack.stop());

it('loses and repeats nothing when one worker becomes four, and four become one, under load', async () => {
  const receivers = await Promise.all(Array.from({ length: ENDPOINTS }, () => Receiver.start()));
  for (const { url } of receivers) await stack.client.register(url);
  const load = publishWithoutEnd(stack.client, 'scale', PAUSE_MS);
  await load.untilAccepted(STEP);
  await Promise.all([stack.startWorker(), stack.startWorker(), stack.startWorker()]);
  await load.untilAccepted(load.accepted.length + STEP);
  for (const worker of stack.workers.slice(0, 3)) {
    expect(await worker.end('SIGTERM')).toBe(0);
    await load.untilAccepted(load.accepted.length + STEP / 2);
  }
  await load.stop();
  for (const receiver of receivers) {
    await receiver.waitFor(load.accepted.length);
    const ids = receiver.requests.map(({ headers }) => String(headers['webhook-id']));
    expect(ids.toSorted()).toEqual(load.accepted);
  }
  await Promise.all(receivers.map((receiver) => receiver.stop()));
});
