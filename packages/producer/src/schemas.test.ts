import { compileDataSchema } from '@hookferry/core/accounts/event-types/compile-data-schema';
import { type LocalServer, startHttpServer } from '@hookferry/core/testing/local-server';
import { standStill } from '@hookferry/core/testing/stand-still';
import { createSchemaCheck, type EventSchemaOptions } from './schemas';

const ORDER = {
  type: 'object',
  properties: { id: { type: 'string' }, total: { type: 'number' } },
  required: ['id'],
};
const NOT_FOUND = { code: 'not_found' };

/** In the place of the API: the schema that it gives now, and what it was asked. */
let answer: { status: number; body: unknown };
let asked: { path: string | undefined; etag: string | undefined }[];
let onAnswered: () => void;
let api: LocalServer;
beforeEach(async () => {
  onAnswered = () => {};
  answer = { status: 200, body: ORDER };
  asked = [];
  api = await startHttpServer(({ url, headers }, response) => {
    asked.push({ path: url, etag: headers['if-none-match'] });
    const { status, body } = answer;
    const etag = `"${JSON.stringify(body).length}"`;
    const isKnown = status === 200 && headers['if-none-match'] === etag;
    response.writeHead(isKnown ? 304 : status, { 'content-type': 'application/json', etag });
    response.end(isKnown ? '' : JSON.stringify(body));
    onAnswered();
  });
});
afterEach(() => api.close());

const checkBy = (options: Partial<EventSchemaOptions> = {}) =>
  createSchemaCheck({ baseUrl: `http://127.0.0.1:${api.port}`, ...options });

it('names every fault as the API does, and reads a schema once for events that pass', async () => {
  const check = checkBy();
  await Promise.all([check('order.created', { id: 'ord_1' }), check('order.created', { id: 'ord_2' })]);
  expect(await check('order.created', { id: 'ord_3', total: 1 })).toEqual([]);
  expect(asked).toEqual([{ path: '/v1/event-types/order.created/schema', etag: undefined }]);
  expect(await check('order.created', { total: '12' })).toEqual([
    { pointer: '/data/id', detail: 'is required, and must be a string' },
    { pointer: '/data/total', detail: 'must be a number' },
  ]);
});

it('reads a schema that has come while this process stood still', async () => {
  const whileAnswered = jest.fn(() => standStill(1_500));
  onAnswered = whileAnswered;
  const check = checkBy({ timeoutMs: 1_000, whenUnreachable: 'refuse' });
  expect(await check('order.created', { id: 'ord_1' })).toEqual([]);
  expect(whileAnswered).toHaveBeenCalledTimes(1);
});

it('words every fault as the service does', async () => {
  const schema = {
    type: 'object',
    properties: {
      id: { type: 'string', minLength: 3, pattern: '^ord_' },
      at: { type: 'string', format: 'date-time' },
      count: { type: 'integer', minimum: 1 },
      state: { enum: ['open', 'paid'] },
      lines: { type: 'array', minItems: 1, items: { type: 'object', required: ['sku'] } },
    },
    required: ['id', 'total'],
    additionalProperties: false,
  };
  answer.body = schema;
  const data = { id: 'x', at: 'soon', count: 0.5, state: 'gone', lines: [{}], totl: 1 };
  const faults = compileDataSchema(schema)(data);
  expect(faults.map(({ detail }) => detail)).toContain('is not a known name');
  expect(await checkBy()('order.created', data)).toEqual(faults);
});

it('checks what is sent: data as JSON has them', async () => {
  answer.body = {
    type: 'object',
    properties: { at: { type: 'string', format: 'date-time' } },
    additionalProperties: false,
  };
  expect(await checkBy()('order.created', { at: new Date(), left: undefined })).toEqual([]);
});

it('refuses nothing by a schema that was replaced', async () => {
  const check = checkBy();
  expect(await check('order.created', { id: 'ord_1' })).toEqual([]);
  answer.body = { type: 'object', required: ['number'] };
  expect(await check('order.created', { number: 1 })).toEqual([]);
  expect(await check('order.created', { id: 'ord_1' })).toEqual([
    { pointer: '/data/number', detail: 'is required' },
  ]);
  expect(asked.map(({ etag }) => etag !== undefined)).toEqual([false, true, true]);
});

it('reads a schema again when it is too old, and keeps it if it has not changed', async () => {
  const check = checkBy({ maxAgeMs: 0 });
  for (const id of ['ord_1', 'ord_2']) expect(await check('order.created', { id })).toEqual([]);
  expect(asked).toHaveLength(2);
  expect(await check('order.created', {})).toHaveLength(1);
});

it('refuses a type that the service does not know, and knows it once it was added', async () => {
  const check = checkBy();
  answer = { status: 404, body: NOT_FOUND };
  expect(await check('order.lost', {})).toEqual([
    { pointer: '/type', detail: '"order.lost" is not a known event type' },
  ]);
  answer = { status: 200, body: ORDER };
  expect(await check('order.lost', { id: 'ord_1' })).toEqual([]);
});

describe('where no schema can be had', () => {
  const faults = [
    ['the API is down', async () => await api.close()],
    ['the API fails', async () => void (answer = { status: 503, body: {} })],
    ['another server is there', async () => void (answer = { status: 404, body: 'Not here' })],
  ] as const;

  it.each(faults)('lets events pass, and tells why: %s', async (_name, breakIt) => {
    await breakIt();
    const errors: string[] = [];
    const check = checkBy({ onError: ({ message }) => errors.push(message) });
    expect(await check('order.created', {})).toEqual([]);
    expect(errors).toEqual([
      expect.stringMatching(/^The schema of order\.created could not be read from http/),
    ]);
  });

  it.each(faults)('refuses them if that is wished: %s', async (_name, breakIt) => {
    await breakIt();
    await expect(checkBy({ whenUnreachable: 'refuse' })('order.created', {})).rejects.toThrow(
      'could not be read',
    );
  });

  it('has nobody wait twice', async () => {
    answer = { status: 503, body: {} };
    const check = checkBy();
    for (const type of ['order.created', 'order.paid']) await check(type, {});
    expect(asked).toHaveLength(1);
  });

  it('does not wait for longer than it was told', async () => {
    const silent = await startHttpServer(() => {});
    const check = checkBy({ baseUrl: `http://127.0.0.1:${silent.port}`, timeoutMs: 20 });
    expect(await check('order.created', {})).toEqual([]);
    await silent.close();
  });
});

it('leaves a schema to the service that JavaScript can not check', async () => {
  answer.body = { type: 'object', properties: { id: { type: 'string', pattern: '(?i)ord' } } };
  const errors: string[] = [];
  const check = checkBy({ onError: ({ message }) => errors.push(message) });
  expect(await check('order.created', { id: 'no' })).toEqual([]);
  expect(errors).toEqual([expect.stringContaining('can not be compiled here')]);
});

it.each([
  [{ baseUrl: 'somewhere' }, 'baseUrl'],
  [{ maxAgeMs: -1 }, 'maxAgeMs'],
  [{ timeoutMs: 0 }, 'timeoutMs'],
  [{ whenUnreachable: 'wait' }, 'whenUnreachable'],
])('refuses the option %j', (options, name) => {
  expect(() => checkBy(options as Partial<EventSchemaOptions>)).toThrow(
    new RegExp(`^createSchemaCheck: ${name} `),
  );
});
