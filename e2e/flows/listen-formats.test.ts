import { createClosables } from '@hookferry/core/testing/closables';
import { ListenProgram } from '../packages/cli/listen-program';
import { type ReceivedRequest, Receiver, type Reply } from '../support/receiver';
import { QUICK_WIN } from '../support/samples';
import { openAccount } from '../support/shared-stack';

const { willClose, closeAll } = createClosables();
afterEach(closeAll);

async function startReceiver(reply?: (request: ReceivedRequest, count: number) => Reply): Promise<Receiver> {
  const receiver = await Receiver.start(reply);
  willClose({ close: () => receiver.stop() });
  return receiver;
}

/** A listener in an account of its own. */
async function listen(url: string, ...args: readonly string[]) {
  const client = await openAccount();
  const program = new ListenProgram(['--forward', url, '--name', 'mine', ...args], {
    url: client.baseUrl,
    key: client.apiKey,
  });
  willClose({ close: async () => void (await program.end()) });
  await program.ready();
  const publish = async (count: number) => {
    const events = Array.from({ length: count }, (_, index) => ({
      type: QUICK_WIN.type,
      data: { ...QUICK_WIN.data, position: index + 1 },
    }));
    const { body } = await client.expect<{ data: { id: string }[] }>(207, 'POST', '/v1/events/batch', {
      events,
    });
    return body.data.map(({ id }) => id);
  };
  return { client, program, publish };
}

const TYPE = QUICK_WIN.type;
const BATCH = ['--batch-max-events', '3', '--batch-max-wait-ms', '20000'];
const STRUCTURED = ['--format', 'cloudevents_structured', '--cloudevents-type-prefix', 'com.example.'];

it.each([
  ['native', [], TYPE, 'application/json'],
  ['cloudevents_structured', STRUCTURED, `com.example.${TYPE}`, 'application/cloudevents+json'],
  ['cloudevents_binary', ['--format', 'cloudevents_binary'], TYPE, 'application/json'],
])('forwards and names the events of the format %s', async (_format, flags, type, contentType) => {
  const receiver = await startReceiver();
  const { program, publish } = await listen(receiver.url, ...flags);
  const ids = await publish(2);
  const lines = await program.forwarded(2);
  const line = { batch_id: null, type, attempt: 1, outcome: 'delivered', status: 204 };
  expect(lines.toSorted((a, b) => ids.indexOf(a.event_id) - ids.indexOf(b.event_id))).toMatchObject(
    ids.map((id) => ({ ...line, event_id: id })),
  );
  expect(receiver.requests.map(({ headers }) => headers['content-type'])).toEqual([contentType, contentType]);
});

it.each([
  ['batch', BATCH, 'application/json'],
  ['cloudevents_batch', [...BATCH, '--format', 'cloudevents_batch'], 'application/cloudevents-batch+json'],
])('forwards several events in one request, and names each: %s', async (_format, flags, contentType) => {
  const receiver = await startReceiver();
  const { program, publish } = await listen(receiver.url, ...flags);
  const ids = await publish(3);
  const lines = await program.forwarded(3);
  // One that was just being put aside goes by itself.
  const { requests } = receiver;
  expect(requests.length).toBeLessThan(ids.length);
  expect(lines.map((line) => line.event_id).toSorted()).toEqual(ids.toSorted());
  for (const { headers } of requests) {
    expect(headers['webhook-id']).toMatch(/^batch_/);
    expect(headers['content-type']).toBe(contentType);
    expect(lines.map((line) => line.batch_id)).toContain(headers['webhook-id']);
  }
  const line = { type: TYPE, outcome: 'delivered', status: 204 };
  expect(lines).toMatchObject(ids.map(() => line));
});

it('sends those again that its receiver has not taken, however long the response is', async () => {
  // The part of a response that is kept for people would end before the list does.
  const naming = (failed: readonly string[]) => JSON.stringify({ note: 'x'.repeat(5_000), failed });
  let failed: readonly string[] = [];
  const receiver = await startReceiver((request, count) => {
    const items = JSON.parse(request.body.toString()) as { data: readonly { id: string }[] };
    failed = items.data.slice(1).map(({ id }) => id);
    return count === 1 ? { status: 200, body: naming(failed) } : 204;
  });
  const { client, program, publish } = await listen(receiver.url, ...BATCH, '--retry-schedule', '1s,1s');
  const ids = await publish(3);
  const deliveries = await Promise.all(
    ids.map((id) => client.waitForStatus('listener.mine', id, 'delivered')),
  );
  expect(deliveries.map(({ attempts }) => attempts.map(({ outcome }) => outcome))).toEqual([
    ['delivered'],
    ['rejected_in_batch', 'delivered'],
    ['rejected_in_batch', 'delivered'],
  ]);
  const lines = await program.forwarded(5);
  expect(lines.map(({ event_id, outcome }) => [event_id, outcome])).toEqual([
    [ids[0], 'delivered'],
    [ids[1], 'rejected_in_batch'],
    [ids[2], 'rejected_in_batch'],
    [ids[1], 'delivered'],
    [ids[2], 'delivered'],
  ]);
});

it('names what a transformation has made by the id of its event', async () => {
  const receiver = await startReceiver();
  const { client, program, publish } = await listen(receiver.url);
  const code = 'export default ({ data }) => ({ body: { text: data.keyword } });';
  await client.expect(201, 'PUT', '/v1/webhooks/listener.mine/transformation', { code });
  const [id] = await publish(1);
  expect(await program.forwarded(1)).toMatchObject([{ event_id: id, type: '-', outcome: 'delivered' }]);
  expect(JSON.parse(String(receiver.requests[0]?.body))).toEqual({ text: QUICK_WIN.data.keyword });
});
