import { createClosables } from '@hookferry/core/testing/closables';
import express from 'express';
import request from 'supertest';
import { beginTestRequest } from '../testing/begin-test-request';
import { boundsOf, JsonBodyReader, placeOfFault, type TextPlace } from './json-body';
import { JsonWalk } from './json-walk';
import type { Route } from './route';

describe('read json body', () => {
  const { willClose, closeAll } = createClosables();
  afterEach(closeAll);

  const MIB = 1024 * 1024;

  /** Counts the turns that others have from the time that the body has come until it is parsed. */
  function start() {
    let turns = 0;
    let isWaiting = false;
    const count = () => {
      if (!isWaiting) return;
      turns += 1;
      setImmediate(count);
    };
    const reader = new JsonBodyReader({ maxBytes: 5 * MIB, maxValues: 1_000, mayBeEmpty: false }, ['data']);
    const app = express();
    app.use(beginTestRequest);
    app.post('/', async (asked, response) => {
      const bytes = await reader.readBytes(asked, response);
      isWaiting = true;
      setImmediate(count);
      const { dataTexts: texts } = await reader.parse(bytes);
      isWaiting = false;
      response.json({ turns, texts });
    });
    const server = app.listen(0, '127.0.0.1');
    willClose(server);
    return server;
  }

  it.each([
    ['white space', ' '.repeat(4 * MIB)],
    ['a string', `"${'x'.repeat(4 * MIB)}",`],
    ['escapes', `"${'\\"'.repeat(2 * MIB)}",`],
  ])('lets others have their turn while it walks a long body of %s', async (_what, padding) => {
    const body = `{"a":[${padding}1],"data":1.0}`;
    const answer = await request(start()).post('/').type('json').send(body);
    expect(answer.body).toEqual({ turns: expect.any(Number), texts: ['1.0'] });
    expect((answer.body as { readonly turns: number }).turns).toBeGreaterThanOrEqual(15);
  });

  it('parses a short body at once', async () => {
    const answer = await request(start()).post('/').type('json').send('{"data": [1]}');
    expect(answer.body).toEqual({ turns: 0, texts: ['[1]'] });
  });
});

describe('body bounds', () => {
  const KIB = 1_024;

  it.each([1 * KIB, 260 * KIB, 10_244 * KIB])(
    'takes an event of nothing but numbers of one digit in a body of %d bytes',
    (maxBytes) => {
      const body = Buffer.from(`[${'1,'.repeat(maxBytes / 2 - 2)}1]`);
      const bounds = boundsOf({ request: { hasEventData: true } }, maxBytes);
      expect(bounds.maxBytes).toBe(maxBytes);
      const walk = new JsonWalk(body, { maxDepth: 1, ...bounds });
      walk.goOn();
      expect(walk.passedBound).toBeUndefined();
    },
  );

  it('takes fewer values where there are no events, and as many bytes as the route says', () => {
    expect(boundsOf({ maxBodyBytes: 5, request: {} }, 100)).toMatchObject({ maxBytes: 5, maxValues: 10_000 });
    expect(boundsOf({ request: {} }, 100)).toMatchObject({ maxBytes: 100, maxValues: 10_000 });
    const mayBeEmpty = [undefined, true as const].map(
      (mayLackBody) => boundsOf({ request: { mayLackBody } as Route['request'] }, 100).mayBeEmpty,
    );
    expect(mayBeEmpty).toEqual([false, true]);
  });
});

describe('json fault', () => {
  function findJsonFault(text: string): TextPlace | undefined {
    try {
      JSON.parse(text);
    } catch (error) {
      return placeOfFault(text, error as SyntaxError);
    }
    throw new Error('It is JSON.');
  }

  it.each([
    ['{"a":}', 1, 6],
    ['{"a":1,}', 1, 8],
    ['[1,2', 1, 5],
    ['{"a" 1}', 1, 6],
    ["{'a':1}", 1, 2],
    ['{\n  "a": 1\n  "b": 2\n}', 3, 3],
    ['{"a":1}}', 1, 8],
    ['{"a":01}', 1, 7],
    ['"ab', 1, 4],
    ['nul', 1, 4],
    ['[1}', 1, 3],
    ['{"a":tru}', 1, 9],
    ['[1,2,3,4,5,6,7,,8]', 1, 16],
    ['{"what": "is at the end", "a": x}', 1, 32],
    [`[${'1,'.repeat(50)}]`, 1, 102],
    ['', 1, 1],
    ['1 2', 1, 3],
    ['[NaN, "and", "what", "follows"]', 1, 2],
    ['{"what": "is before",\n"a": undefined, "and": "what follows"}', 2, 6],
    ['{"what": "is before",\n"a\\" b": "d",\n"a":}', 3, 5],
  ])('finds where %j stops being JSON', (text, line, column) => {
    expect(findJsonFault(text)).toEqual({ line, column });
  });

  it('gives no place that an error does not tell', () => {
    expect(placeOfFault('x'.repeat(50), new SyntaxError('Wrong.'))).toBeUndefined();
  });

  it('finds the place in a text of millions of characters', () => {
    expect(findJsonFault(`{"a":"${'x\\n'.repeat(2_000_000)}"`)).toEqual({ line: 1, column: 6_000_008 });
    expect(findJsonFault(`${'\n'.repeat(5_000_000)} }`)).toEqual({ line: 5_000_001, column: 2 });
  });
});
