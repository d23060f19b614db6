import { uniqueEndpointId } from '../testing/unique-ids';
import { ChangeReader, MOST_WAITING, type StreamMessage } from './change-reader';

const endpointId = uniqueEndpointId();
const other = uniqueEndpointId();

function build(change: Partial<ConstructorParameters<typeof ChangeReader>[0]> = {}) {
  const onEnd = jest.fn<void, []>();
  const reader = new ChangeReader({ endpointId: undefined, after: undefined, onEnd, ...change });
  return { reader, onEnd };
}

function entry(at: number, of = endpointId) {
  return { id: `${at}-0`, change: { kind: 'webhook', change: 'updated', endpointId: of } } as const;
}

async function messagesOf(reader: ChangeReader): Promise<string[]> {
  reader.end('stopping');
  const messages: StreamMessage[] = [];
  for await (const message of reader.messages()) messages.push(message);
  return messages.map((message) =>
    message.kind === 'end' ? message.reason : `${message.kind} ${message.id}`,
  );
}

it('is told nothing before it is ready, and nothing twice', async () => {
  const { reader } = build();
  reader.offer(entry(1));
  reader.begin('2-0');
  for (const at of [1, 2, 3, 10, 3, 9]) reader.offer(entry(at));
  expect(await messagesOf(reader)).toEqual(['ready 2-0', 'change 3-0', 'change 10-0', 'stopping']);
});

it('is told what concerns its endpoint, or all', async () => {
  const { reader } = build({ endpointId });
  reader.begin('1-0');
  reader.offer(entry(2, other));
  reader.offer(entry(3));
  reader.offer({ id: '4-0', change: { kind: 'reset' } });
  expect(await messagesOf(reader)).toEqual(['ready 1-0', 'change 3-0', 'change 4-0', 'stopping']);
});

it('that takes nothing keeps a bounded number of messages, and is told only that it is over', async () => {
  const { reader, onEnd } = build();
  reader.begin('0-0');
  for (let at = 1; at < MOST_WAITING; at += 1) reader.offer(entry(at));
  expect(onEnd).not.toHaveBeenCalled();
  reader.offer(entry(MOST_WAITING));
  expect(onEnd).toHaveBeenCalledTimes(1);
  expect(await messagesOf(reader)).toEqual(['too_slow']);
});

it('that is in the middle of what it has taken leaves the rest', async () => {
  const { reader } = build();
  reader.begin('0-0');
  for (let at = 1; at < 100; at += 1) reader.offer(entry(at));
  const messages = reader.messages();
  await messages.next();
  reader.end('too_slow');
  expect(await messages.next()).toMatchObject({ value: { kind: 'end', reason: 'too_slow' } });
});
