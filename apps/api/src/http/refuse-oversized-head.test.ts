import express from 'express';
import request from 'supertest';
import { readProblem } from '../testing/read-problem';
import { answerProblems } from './problem';
import { refuseOversizedHead } from './refuse-oversized-head';
import { requestId } from './request-id';

const app = express()
  .use(
    requestId((prefix) => `${prefix}_1`),
    refuseOversizedHead,
  )
  .use((_request, response) => void response.json({}))
  .use(answerProblems(() => {}));

const pathOf = (length: number) => `/${'x'.repeat(length - 1)}`;

// What the client sends by itself: host, accept-encoding, connection.
const OWN_HEADERS = 3;
const headers = (count: number) =>
  Object.fromEntries(Array.from({ length: count - OWN_HEADERS }, (_, at) => [`x-${at}`, '1']));

describe('the head of a request', () => {
  it('may have a URL of 8 KiB, and is refused with 414 beyond', async () => {
    expect((await request(app).get(pathOf(8_192))).status).toBe(200);
    const refused = await request(app).get(pathOf(8_193));
    expect(readProblem(refused)).toEqual({ status: 414, code: 'uri_too_long' });
  });

  it('may have 100 headers, and is refused with 431 beyond', async () => {
    expect((await request(app).get('/').set(headers(100))).status).toBe(200);
    const refused = await request(app).get('/').set(headers(101));
    expect(readProblem(refused)).toEqual({ status: 431, code: 'headers_too_large' });
  });
});
