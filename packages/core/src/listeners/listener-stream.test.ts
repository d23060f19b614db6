import type { SendResult } from '../domain/transport';
import { uniqueAccountId, uniqueEndpointId } from '../testing/unique-ids';
import type { HandedRequest, ListenerAnswer } from './listener-message';
import { type ListenerLine, ListenerStream, SILENCE_MS } from './listener-stream';

const TIMEOUT_MS = 1_000;
const endpointId = uniqueEndpointId();

function arrange(parallel = 2) {
  let now = 0;
  const results = new Map<string, SendResult>();
  const asked: string[] = [];
  const stream = new ListenerStream({
    id: 'one',
    address: { accountId: uniqueAccountId(), endpointId },
    parallel,
    reply: ({ id }, result) => void results.set(id, result),
    ask: ({ id }) => void asked.push(id),
    onEnd: () => {},
    clock: () => now,
  });
  const lines = stream.lines();
  return {
    stream,
    results,
    asked,
    pass: (ms: number) => void (now += ms),
    next: async () => (await lines.next()).value as ListenerLine,
    offer: (...ids: string[]) => {
      for (const id of ids) stream.offer(request(id));
    },
  };
}

function request(id: string): HandedRequest {
  return {
    id,
    replyTo: 'worker',
    endpointId,
    stream: 'one',
    headers: {},
    body: id,
    timeoutMs: TIMEOUT_MS,
    keptBytes: 4,
  };
}

function accepted(exchange: string): ListenerAnswer {
  const body = Buffer.from('taken').toString('base64');
  return { kind: 'answered', exchange, status: 200, headers: { 'retry-after': '7' }, body, timings: {} };
}

it('hands over no more at a time than it may, and the next one with each answer', async () => {
  const { offer, next, stream, results } = arrange(2);
  offer('a', 'b', 'c');
  expect([await next(), await next()]).toMatchObject([{ request: { id: 'a' } }, { request: { id: 'b' } }]);
  stream.hear([accepted('2')]);
  expect(await next()).toMatchObject({ kind: 'delivery', exchange: '3', request: { id: 'c' } });
  expect(results.get('b')).toEqual({
    kind: 'responded',
    status: 200,
    retryAfter: '7',
    wish: undefined,
    headers: { 'retry-after': '7' },
    body: 'take',
    timings: {},
  });
});

it('passes over an answer to what it has not handed over, or was answered', async () => {
  const { offer, stream, results } = arrange();
  offer('a');
  stream.hear([accepted('17'), accepted('1'), { ...accepted('1'), status: 500 } as ListenerAnswer]);
  expect([...results.values()]).toMatchObject([{ status: 200 }]);
});

it('begins what has waited for the listener only if its worker says that it still may', async () => {
  const { offer, pass, next, stream, results, asked } = arrange(1);
  offer('a', 'b', 'c', 'd');
  await next();
  pass(300);
  stream.hear([accepted('1')]);
  expect(asked).toEqual(['b']);
  stream.permit('b', false);
  expect(asked).toEqual(['b', 'c']);
  // The answer has taken too long.
  pass(600);
  stream.permit('c', true);
  expect(asked).toEqual(['b', 'c', 'c']);
  stream.permit('c', true);
  expect(await next()).toMatchObject({ kind: 'delivery', exchange: '2', request: { id: 'c' } });
  expect([...results.keys()]).toEqual(['a']);
});

it('gives back what its worker says nothing of, and goes on with the next one', async () => {
  const { offer, pass, next, stream, results } = arrange(1);
  offer('a', 'b');
  await next();
  pass(300);
  stream.hear([accepted('1')]);
  pass(TIMEOUT_MS + 1);
  offer('c');
  stream.check();
  expect(results.get('b')).toMatchObject({ kind: 'unsent' });
  expect(await next()).toMatchObject({ kind: 'delivery', request: { id: 'c' } });
});

it('gives back what has waited for longer than an answer may take', () => {
  const { offer, pass, stream, results } = arrange(1);
  offer('a', 'b');
  pass(TIMEOUT_MS + 1);
  stream.check();
  expect([...results]).toMatchObject([['b', { kind: 'unsent' }]]);
});

it('asks once more about what the client did not read for a while: it begins when its line goes', async () => {
  const { offer, pass, next, stream, results, asked } = arrange(3);
  offer('a', 'b', 'c');
  expect(await next()).toMatchObject({ exchange: '1', request: { id: 'a' } });
  pass(300);
  const read = next();
  await Promise.resolve();
  expect(asked).toEqual(['b']);
  stream.permit('b', false);
  await new Promise(setImmediate);
  expect(asked).toEqual(['b', 'c']);
  stream.permit('c', true);
  expect(await read).toMatchObject({ kind: 'delivery', exchange: '4', request: { id: 'c' } });
  expect(results.size).toBe(0);
});

it('gives back what the client has not read in time, and does not send it any more', async () => {
  const { offer, pass, next, stream, results } = arrange(2);
  offer('a', 'b');
  await next();
  pass(TIMEOUT_MS + 2_001);
  stream.hear([]);
  expect(results.get('a')).toMatchObject({ kind: 'failed', reason: 'response_timeout' });
  expect(results.get('b')).toMatchObject({ kind: 'unsent' });
  offer('c');
  expect(await next()).toMatchObject({ exchange: '3', request: { id: 'c' } });
});

it('takes a missing answer for a time-out only from a listener that has shown since that it lives', async () => {
  const { offer, pass, next, stream, results } = arrange();
  offer('a');
  await next();
  pass(TIMEOUT_MS + 2_001);
  stream.check();
  expect(results.size).toBe(0);
  stream.hear([]);
  expect(results.get('a')).toMatchObject({ kind: 'failed', reason: 'response_timeout' });
});

it('ends when the listener is silent, and says of all that has no answer that it was not sent', async () => {
  const { offer, pass, next, stream, results } = arrange(1);
  offer('a', 'b');
  await next();
  pass(SILENCE_MS);
  stream.check();
  expect(stream.ended).toBeUndefined();
  pass(1);
  // In time for the one that waits, too.
  stream.check();
  expect(await next()).toEqual({ kind: 'end', reason: 'silent' });
  expect([...results]).toMatchObject([
    ['b', { kind: 'unsent' }],
    ['a', { kind: 'unsent' }],
  ]);
  stream.offer(request('late'));
  expect(results.get('late')).toMatchObject({ kind: 'unsent' });
});
