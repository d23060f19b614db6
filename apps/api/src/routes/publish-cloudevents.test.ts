import { keywordQuickWin } from '@hookferry/core/accounts/event-types/built-in';
import type { AccountId } from '@hookferry/core/domain/account';
import { CloudEvent, HTTP, type Message } from 'cloudevents';
import { readAcceptedEvents } from '../testing/read-accepted-events';
import { startTestApi, type TestApi } from '../testing/start-test-api';

let api: TestApi;
let key: string;
let accountId: AccountId;
beforeAll(async () => {
  api = await startTestApi();
});
beforeEach(async () => {
  ({ key, accountId } = await api.issueKey());
});
afterAll(() => api.close());

const { name: TYPE, example: DATA } = keywordQuickWin;
const BINARY = { 'content-type': 'application/json', 'ce-specversion': '1.0' };
const ATTRIBUTES = { 'ce-id': '1', 'ce-source': '/shop', 'ce-type': TYPE };
const EVENT = { specversion: '1.0', id: '1', source: '/shop', type: TYPE, data: DATA };
const STRUCTURED = 'application/cloudevents+json';
const BATCH = 'application/cloudevents-batch+json';

interface Answer {
  readonly id: string;
  readonly errors: readonly { readonly pointer: string; readonly detail: string }[];
  readonly code: string;
  readonly data: readonly { readonly status_code: number; readonly id?: string; readonly error?: Answer }[];
}

async function send(headers: Readonly<Record<string, unknown>>, body: string, path = '/v1/events') {
  const sent = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));
  const response = await fetch(`${api.url}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, ...sent },
    body,
  });
  return { status: response.status, headers: response.headers, body: (await response.json()) as Answer };
}

const sendMessage = ({ headers, body }: Message) => send(headers, String(body));
const sendStructured = (event: object) => send({ 'content-type': STRUCTURED }, JSON.stringify(event));
const accepted = () => readAcceptedEvents(api, accountId);

describe('a structured CloudEvent', () => {
  it('is an event of its type, with the bytes of its data', async () => {
    const data = '{ "keyword":"a\\u0062",  "position": 4.0,"volume":9007199254740993 }';
    const text = `{"data":1,"specversion":"1.0","id":"1","source":"/shop","type":"${TYPE}", "d\\u0061ta" : ${data} }`;
    const { status, body } = await send({ 'content-type': `${STRUCTURED}; charset=UTF-8` }, text);
    expect(body.errors).toBeUndefined();
    expect(status).toBe(202);
    expect(await accepted()).toMatchObject([{ id: body.id, body: `{"type":"${TYPE}","data":${data}}` }]);
  });

  it('is the same event when it comes again, in any form, and another one from another source', async () => {
    const first = await sendStructured(EVENT);
    const again = await sendStructured({ ...EVENT, time: '2030-01-31T12:00:00+01:00', subject: null });
    const asBinary = await send({ ...BINARY, ...ATTRIBUTES }, JSON.stringify(DATA));
    const other = await sendStructured({ ...EVENT, source: '/shop/2' });
    expect([first.status, again.status, asBinary.status, other.status]).toEqual([202, 200, 200, 202]);
    expect(first.body.id).toMatch(/^ce_[\w-]{43}$/);
    expect([again.body.id, asBinary.body.id]).toEqual([first.body.id, first.body.id]);
    expect(other.body.id).not.toBe(first.body.id);
    expect(await accepted()).toHaveLength(2);
  });

  it('is another event under the same id and source when its data is another: a conflict', async () => {
    await sendStructured(EVENT);
    const { status, body } = await sendStructured({ ...EVENT, data: { ...DATA, position: 9 } });
    expect([status, body.code]).toEqual([409, 'event_id_conflict']);
  });

  it.each([
    ['another version', { specversion: '0.3' }, '/specversion'],
    ['no version', { specversion: undefined }, '/specversion'],
    ['no id', { id: undefined }, '/id'],
    ['an empty id', { id: '' }, '/id'],
    ['no source', { source: null }, '/source'],
    ['an empty source', { source: '' }, '/source'],
    ['a source that is no URI', { source: 'a b' }, '/source'],
    ['an unknown type', { type: 'no.such' }, '/type'],
    ['a time that is none', { time: 'yesterday' }, '/time'],
    ['data of another media type', { datacontenttype: 'text/xml', data: '<a/>' }, '/datacontenttype'],
    ['data in base64', { data: undefined, data_base64: 'e30=' }, '/data_base64'],
    ['no data', { data: undefined }, '/data'],
    ['a subject, which is not kept', { subject: 'o_1' }, '/subject'],
    ['the address of a schema, which is not kept', { dataschema: 'https://example.com/s' }, '/dataschema'],
    ['an extension, which is not kept', { traceparent: '00-a' }, '/traceparent'],
    ['an empty partition key', { partitionkey: '' }, '/partitionkey'],
    ['a partition key that is no text', { partitionkey: 7 }, '/partitionkey'],
    ['a long partition key', { partitionkey: 'ä'.repeat(129) }, '/partitionkey'],
  ])('is refused with %s', async (_what, change, pointer) => {
    const { status, body } = await sendStructured({ ...EVENT, ...change });
    expect(status).toBe(422);
    expect(body.errors.map((error) => error.pointer)).toContain(pointer);
    expect(await accepted()).toEqual([]);
  });

  it('has the group that its partition key names', async () => {
    await sendStructured({ ...EVENT, partitionkey: 'order 4711 ä' });
    const binary = { ...BINARY, ...ATTRIBUTES, 'ce-id': '2', 'ce-partitionkey': 'order%204711%20%C3%A4' };
    expect((await send(binary, JSON.stringify(DATA))).status).toBe(202);
    await sendStructured({ ...EVENT, id: '3', partitionkey: null });
    const groups = (await accepted()).map(({ group }) => group);
    expect(groups.toSorted()).toEqual(['order 4711 ä', 'order 4711 ä', undefined]);
  });

  it('says of an attribute that is not kept what to do', async () => {
    const { body } = await sendStructured({ ...EVENT, tenant: 'acme' });
    expect(body.errors).toEqual([
      {
        pointer: '/tenant',
        detail: 'is an attribute that is not kept: leave it out, or move its value into the data',
      },
    ]);
  });

  it.each(['[]', '"x"', 'null', '7'])('is an object, and not %s', async (text) => {
    expect((await send({ 'content-type': STRUCTURED }, text)).status).toBe(422);
  });

  it('points into its data', async () => {
    const { body } = await sendStructured({ ...EVENT, data: {} });
    expect(body.errors.every(({ pointer }) => pointer.startsWith('/data/'))).toBe(true);
  });
});

describe('a batch of CloudEvents', () => {
  it('has an outcome for each, in their order', async () => {
    const events = [EVENT, { ...EVENT, specversion: '0.3' }, { ...EVENT, id: '2' }, EVENT];
    const { status, body } = await send({ 'content-type': BATCH }, JSON.stringify(events));
    expect(status).toBe(207);
    expect(body.data.map((each) => each.status_code)).toEqual([202, 422, 202, 200]);
    expect(body.data[1]?.error?.errors).toMatchObject([{ pointer: '/1/specversion' }]);
    expect(await accepted()).toHaveLength(2);
  });

  it('keeps the bytes of the data of each', async () => {
    const texts = [1, 2].map((n) =>
      JSON.stringify({ ...EVENT, id: String(n) }).replace('"data":{', `"data": {${' '.repeat(n)}`),
    );
    await send({ 'content-type': BATCH }, ` [${texts.join(' , ')} ]`);
    const bodies = (await accepted()).map(({ body }) => body);
    expect(bodies.toSorted()).toEqual(
      [2, 1].map((n) => `{"type":"${TYPE}","data":{${' '.repeat(n)}${JSON.stringify(DATA).slice(1)}}`),
    );
  });

  it.each(['[]', '{}', JSON.stringify(Array.from({ length: 501 }, () => 1))])(
    'has 1 to 500 events',
    async (text) => {
      expect((await send({ 'content-type': BATCH }, text)).status).toBe(422);
    },
  );
});

describe('a binary CloudEvent', () => {
  it('has the data as its body, byte for byte', async () => {
    const data = ` ${JSON.stringify(DATA).replace('{', '{ ')}\n`;
    const { status, body } = await send({ ...BINARY, ...ATTRIBUTES }, data);
    expect(status).toBe(202);
    expect(await accepted()).toMatchObject([
      { id: body.id, body: `{"type":"${TYPE}","data":${data.trim()}}` },
    ]);
  });

  it('has its attributes percent-encoded, or quoted', async () => {
    const encoded = await send({ ...BINARY, ...ATTRIBUTES, 'ce-id': 'Zo%C3%AB%20%22' }, JSON.stringify(DATA));
    const quoted = await send({ ...BINARY, ...ATTRIBUTES, 'ce-id': '"Zo%C3%AB \\""' }, JSON.stringify(DATA));
    const structured = await sendStructured({ ...EVENT, id: 'Zoë "' });
    expect([encoded.status, quoted.status, structured.status]).toEqual([202, 200, 200]);
    expect(structured.body.id).toBe(encoded.body.id);
  });

  it.each([
    ['another version', { 'ce-specversion': '0.3' }, 'ce-specversion'],
    ['an extension', { 'ce-tenant': 'acme' }, 'ce-tenant'],
    ['no valid source', { 'ce-source': 'a%20b' }, 'ce-source'],
    ['an unknown type', { 'ce-type': 'no.such' }, 'ce-type'],
  ])('is refused with %s, by the header', async (_what, change, pointer) => {
    const { status, body } = await send({ ...BINARY, ...ATTRIBUTES, ...change }, JSON.stringify(DATA));
    expect(status).toBe(422);
    expect(body.errors).toMatchObject([{ pointer }]);
  });

  it('points into its body', async () => {
    const { body } = await send({ ...BINARY, ...ATTRIBUTES }, JSON.stringify({ ...DATA, position: 'x' }));
    expect(body.errors).toMatchObject([{ pointer: '/position' }]);
  });

  it('is another request under an Idempotency-Key when a header is another', async () => {
    const headers = { ...BINARY, ...ATTRIBUTES, 'idempotency-key': 'k' };
    const first = await send(headers, JSON.stringify(DATA));
    const same = await send(headers, JSON.stringify(DATA));
    const other = await send({ ...headers, 'ce-id': '2' }, JSON.stringify(DATA));
    expect([first.status, same.status, other.body.code]).toEqual([202, 202, 'idempotency_key_reused']);
  });
});

describe('other media types', () => {
  it.each(['text/plain', 'application/xml', 'application/cloudevents+avro', 'application/cloudevents'])(
    'are not taken: %s',
    async (type) => {
      const { status, body } = await send({ 'content-type': type }, JSON.stringify(EVENT));
      expect([status, body.code]).toEqual([415, 'unsupported_media_type']);
    },
  );

  it.each(['/v1/events/batch', '/v1/webhooks'])('nor CloudEvents at %s', async (path) => {
    expect((await send({ 'content-type': STRUCTURED }, JSON.stringify(EVENT), path)).status).toBe(415);
  });
});

describe('the SDK of CloudEvents', () => {
  const event = new CloudEvent({
    id: 'sdk',
    source: 'urn:example:shop',
    type: TYPE,
    data: DATA,
    partitionkey: 'order-1',
  });

  it.each([
    ['structured', (each: CloudEvent<unknown>) => HTTP.structured(each)],
    ['binary', (each: CloudEvent<unknown>) => HTTP.binary(each)],
  ])('publishes what it makes: %s', async (_form, messageOf) => {
    const { status, body } = await sendMessage(messageOf(event));
    expect(body.errors).toBeUndefined();
    expect(status).toBe(202);
    const stored = await accepted();
    expect(stored).toMatchObject([{ type: TYPE, group: 'order-1' }]);
    expect(JSON.parse(stored[0]?.body ?? '')).toEqual({ type: TYPE, data: DATA });
  });

  it('publishes a batch', async () => {
    const events = [event, event.cloneWith({ id: 'sdk-2' })];
    const headers = { 'content-type': BATCH };
    const { status, body } = await send(headers, JSON.stringify(events));
    expect(status).toBe(207);
    expect(body.data.map((each) => each.status_code)).toEqual([202, 202]);
  });
});
