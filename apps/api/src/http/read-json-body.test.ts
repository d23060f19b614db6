import { createClosables } from '@hookferry/core/testing/closables';
import express from 'express';
import request from 'supertest';
import { readJsonBody } from './read-json-body';

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
  const app = express();
  app.post(
    '/',
    ...readJsonBody({ maxBytes: 5 * MIB, maxValues: 1_000, mayBeEmpty: false }, ['data'], (_q, _s, next) => {
      isWaiting = true;
      setImmediate(count);
      next();
    }),
    (_request, response) => {
      isWaiting = false;
      response.json({ turns, texts: response.locals.dataTexts });
    },
  );
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
