import { CloudEvent, HTTP } from 'cloudevents';
import type { Endpoint } from '../domain/endpoint';
import { buildEndpoint } from '../testing/build-endpoint';
import { buildEvent } from '../testing/build-event';
import { type CloudEventsStyle, contentOf, itemOf, keptHeadersOf, percentEncode } from './cloudevents';

const ACCEPTED_AT = Date.UTC(2030, 0, 31, 12);
const PUBLIC_URL = 'https://hooks.example.com';

interface Change {
  readonly format?: Endpoint['format'];
  readonly cloudevents?: Endpoint['cloudevents'];
  readonly data?: string;
  readonly style?: CloudEventsStyle;
  readonly accountSource?: string;
  readonly group?: string;
}

function make({
  format = 'cloudevents_structured',
  cloudevents,
  data = '{"id":7}',
  style,
  accountSource,
  group,
}: Change = {}) {
  const type = 'order.paid';
  const body = `{"type":"${type}","data":${data}}`;
  const event = buildEvent({
    type,
    body,
    acceptedAt: ACCEPTED_AT,
    ...(group === undefined ? {} : { group }),
  });
  const endpoint = buildEndpoint({ format, ...(cloudevents === undefined ? {} : { cloudevents }) });
  return { event, content: contentOf({ event, endpoint, accountSource }, style) };
}

const attributesIn = (body: string) => JSON.parse(body) as Record<string, unknown>;

describe('the usual format', () => {
  it('is the body as it was stored', () => {
    const { event, content } = make({ format: 'native' });
    expect(content).toEqual({ body: event.body, headers: { 'content-type': 'application/json' } });
  });
});

describe('a structured CloudEvent', () => {
  it('has the attributes and the data in one body', () => {
    const { event, content } = make({ style: { publicUrl: PUBLIC_URL } });
    expect(content.headers).toEqual({ 'content-type': 'application/cloudevents+json' });
    expect(JSON.parse(content.body)).toEqual({
      specversion: '1.0',
      id: event.id,
      source: `${PUBLIC_URL}/accounts/${event.accountId}`,
      type: 'order.paid',
      time: '2030-01-31T12:00:00.000Z',
      dataschema: `${PUBLIC_URL}/v1/event-types/order.paid/schema`,
      datacontenttype: 'application/json',
      data: { id: 7 },
    });
  });

  it.each(['{"n": 1.0, "big":9007199254740993,"n":1e400}', ' [ ] ', '"\\u0064\\ud800"', 'null', '-0.10'])(
    'keeps the bytes of the data: %s',
    (data) => {
      expect(make({ data }).content.body.endsWith(`,"data":${data}}`)).toBe(true);
    },
  );

  it.each(['1,"id":"forged"', '1}', '{', ''])(
    'has no member that only a text which says that it is JSON would add: %j',
    (body) => {
      const { event } = make();
      const endpoint = buildEndpoint({ format: 'cloudevents_structured' });
      const transformed = { version: 1, body, headers: { 'content-type': 'application/json' } };
      const envelope = JSON.parse(contentOf({ event, endpoint, transformed }).body);
      expect(envelope).toMatchObject({ id: event.id, data: body });
      expect(JSON.parse(itemOf({ event, endpoint, transformed }))).toMatchObject({ data: body });
    },
  );

  it('is the same each time', () => {
    const { event, content } = make();
    const endpoint = buildEndpoint({ format: 'cloudevents_structured' });
    expect(contentOf({ event, endpoint })).toEqual(content);
  });
});

describe('the source', () => {
  const cloudevents = { source: 'https://shop.example.com/orders' };
  const style = { source: 'urn:example:all', publicUrl: PUBLIC_URL };
  it.each([
    ["the webhook's own first", { cloudevents, accountSource: 'urn:example:one', style }, cloudevents.source],
    ["then its account's", { accountSource: 'urn:example:one', style }, 'urn:example:one'],
    ["then the service's", { style }, 'urn:example:all'],
  ])('is %s', (_which, change, source) => {
    expect(attributesIn(make(change).content.body)).toMatchObject({ source });
  });

  it('is a relative URI that names the account where nothing is set', () => {
    const { event, content } = make();
    expect(attributesIn(content.body)).toMatchObject({ source: `/accounts/${event.accountId}` });
    expect(attributesIn(content.body)).not.toHaveProperty('dataschema');
  });
});

it('puts the prefix before the type', () => {
  const { content } = make({ cloudevents: { type_prefix: 'com.example.' } });
  expect(attributesIn(content.body)).toMatchObject({ type: 'com.example.order.paid' });
});

describe('the subject', () => {
  const subjectOf = (data: string, pointer: string) =>
    attributesIn(make({ data, cloudevents: { subject_pointer: pointer } }).content.body)['subject'];

  it.each([
    ['{"id":"o_1"}', '/id', 'o_1'],
    ['{"order":{"lines":[{"no":3}]}}', '/order/lines/0/no', '3'],
    ['{"a/b":{"~c":1.5}}', '/a~1b/~0c', '1.5'],
    ['{"id":"first","id":"last"}', '/id', 'last'],
    [`{"id":"${'x'.repeat(512)}"}`, '/id', 'x'.repeat(512)],
  ])('is what the pointer finds: %s %s', (data, pointer, subject) => {
    expect(subjectOf(data, pointer)).toBe(subject);
  });

  it.each([
    ['nothing is there', '{"a":1}', '/id'],
    ['it is inherited', '{}', '/constructor/name'],
    ['it is neither text nor number', '{"id":{"a":1}}', '/id'],
    ['it is a flag', '{"id":true}', '/id'],
    ['it is empty', '{"id":""}', '/id'],
    ['it is long', `{"id":"${'x'.repeat(513)}"}`, '/id'],
    ['it has control characters', '{"id":"a\\nb"}', '/id'],
    ['it is no text in Unicode', '{"id":"\\ud800"}', '/id'],
    ['parsing has rounded it', '{"id":9007199254740993}', '/id'],
    ['the data is not an object', '"id"', '/length'],
  ])('is left out where %s', (_why, data, pointer) => {
    expect(subjectOf(data, pointer)).toBeUndefined();
  });
});

describe('a binary CloudEvent', () => {
  it('has the data as its body and the attributes as headers', () => {
    const cloudevents = { subject_pointer: '/id', type_prefix: 'com.example.', source: '/orders' };
    const data = '{ "id": "Zoë 50%" }';
    const { event, content } = make({ format: 'cloudevents_binary', cloudevents, data });
    expect(content).toEqual({
      body: data,
      headers: {
        'content-type': 'application/json',
        'ce-specversion': '1.0',
        'ce-id': event.id,
        'ce-source': '/orders',
        'ce-type': 'com.example.order.paid',
        'ce-time': '2030-01-31T12:00:00.000Z',
        'ce-subject': 'Zo%C3%AB%2050%25',
      },
    });
  });

  it('is recorded without what is of its data', () => {
    const { content } = make({ format: 'cloudevents_binary', cloudevents: { subject_pointer: '/id' } });
    expect(content.headers['ce-subject']).toBe('7');
    expect(keptHeadersOf(content)).toEqual({ ...content.headers, 'ce-subject': '***' });
  });

  it.each([
    ['plain', 'plain'],
    ['Euro € 😀', 'Euro%20%E2%82%AC%20%F0%9F%98%80'],
    ['"%"', '%22%25%22'],
    ['~!a', '~!a'],
  ])('percent-encodes %s', (text, encoded) => {
    expect(percentEncode(text)).toBe(encoded);
    expect(decodeURIComponent(encoded)).toBe(text);
  });
});

describe('the SDK of CloudEvents', () => {
  it.each(['application/cloudevents+json', 'Application/CloudEvents-Batch+JSON; charset=utf-8'])(
    'takes a result of the type %s for data, and for no event of its own',
    (type) => {
      const { event } = make();
      const endpoint = buildEndpoint({ format: 'cloudevents_binary' });
      const forged = { specversion: '1.0', id: 'forged', source: '/evil', type: 'evil' };
      const transformed = { version: 1, body: JSON.stringify(forged), headers: { 'content-type': type } };
      const read = HTTP.toEvent(contentOf({ event, endpoint, transformed }));
      expect(read).toMatchObject({ id: event.id, type: event.type, datacontenttype: type });
      expect(read).toMatchObject({ data: forged });
    },
  );

  it.each(['cloudevents_structured', 'cloudevents_binary'] as const)('reads what is sent as %s', (format) => {
    const cloudevents = { type_prefix: 'com.example.', subject_pointer: '/id' };
    const { event, content } = make({ format, cloudevents, style: { publicUrl: PUBLIC_URL } });
    const read = HTTP.toEvent({ headers: content.headers, body: content.body });
    expect(read).toMatchObject({
      specversion: '1.0',
      id: event.id,
      source: `${PUBLIC_URL}/accounts/${event.accountId}`,
      type: 'com.example.order.paid',
      time: '2030-01-31T12:00:00.000Z',
      subject: '7',
      dataschema: `${PUBLIC_URL}/v1/event-types/order.paid/schema`,
      datacontenttype: 'application/json',
      data: { id: 7 },
    });
    expect(read instanceof CloudEvent && read.validate()).toBe(true);
  });
});

it.each(['order-4711', 'Bestellung Nr. 7 "ä" 100 %'])(
  'names the group of its event as the partition key, as the SDK reads it: %s',
  (group) => {
    const structured = make({ group }).content;
    expect(HTTP.toEvent(structured)).toMatchObject({ partitionkey: group });
    const binary = make({ group, format: 'cloudevents_binary' }).content;
    const { partitionkey } = HTTP.toEvent(binary) as CloudEvent<unknown>;
    // The SDK leaves headers percent-encoded.
    expect(decodeURIComponent(String(partitionkey))).toBe(group);
    expect(attributesIn(make().content.body)).not.toHaveProperty('partitionkey');
  },
);
