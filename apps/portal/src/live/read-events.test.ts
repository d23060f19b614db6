import { readEvents, type StreamEvent } from './read-events';

function streamOf(
  parts: readonly (string | Uint8Array<ArrayBuffer>)[],
): ReadableStream<Uint8Array<ArrayBuffer>> {
  const bytes = parts.map((part) => (typeof part === 'string' ? new TextEncoder().encode(part) : part));
  return new ReadableStream({
    start(controller) {
      for (const part of bytes) controller.enqueue(part);
      controller.close();
    },
  });
}

async function read(...parts: readonly (string | Uint8Array<ArrayBuffer>)[]): Promise<StreamEvent[]> {
  const events: StreamEvent[] = [];
  for await (const event of readEvents(streamOf(parts), () => undefined)) events.push(event);
  return events;
}

describe('readEvents', () => {
  it('gives name, data and id, and leaves comments out', async () => {
    expect(await read(': hello\n\nid: 1-0\nevent: ready\ndata: {}\n\n')).toEqual([
      { name: 'ready', data: '{}', id: '1-0' },
    ]);
  });

  it('takes whatever ends a line, however the bytes are cut', async () => {
    const text = 'event: a\r\ndata: ö1\r\n\r\nevent: b\rdata: 2\r\rdata: 3\ndata: 4\n\n';
    const bytes = [...new TextEncoder().encode(text)].map((byte) => new Uint8Array([byte]));
    expect(await read(...bytes)).toEqual([
      { name: 'a', data: 'ö1', id: undefined },
      { name: 'b', data: '2', id: undefined },
      { name: 'message', data: '3\n4', id: undefined },
    ]);
  });

  it('drops an event that the connection broke off in', async () => {
    expect(await read('data: whole\n\ndata: half\n')).toEqual([
      { name: 'message', data: 'whole', id: undefined },
    ]);
  });
});
