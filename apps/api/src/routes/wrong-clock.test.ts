import { keywordQuickWin } from '@hookferry/core/accounts/event-types/built-in';
import request from 'supertest';
import { readProblem } from '../testing/read-problem';
import { startTestApi, type TestApi } from '../testing/start-test-api';

const HOUR_MS = 3_600_000;

let api: TestApi;
let key: string;
beforeAll(async () => {
  api = await startTestApi({ INSECURE_UNENCRYPTED_SECRETS: 'true', ALLOW_HTTP_URLS: 'true' });
  ({ key } = await api.issueKey());
});
afterEach(() => jest.restoreAllMocks());
afterAll(() => api.close());

function setClock(byMs: number): void {
  const now = Date.now.bind(Date);
  jest.spyOn(Date, 'now').mockImplementation(() => now() + byMs);
}

const send = (path: string, body: object) =>
  request(api.url).post(path).set('authorization', `Bearer ${key}`).send(body);
const { name: type, example: data } = keywordQuickWin;
const publish = () => send('/v1/events', { type, data });

it.each([HOUR_MS, -HOUR_MS])(
  'accepts nothing while the clock is %d ms off, and says what to do',
  async (byMs) => {
    const created = await send('/v1/webhooks', { url: 'http://example.com/hook', events: [type] });
    setClock(byMs);
    const requests = [
      publish(),
      publish().set('idempotency-key', `key${byMs}`),
      send('/v1/events/batch', { events: [{ type, data }] }),
      send(`/v1/webhooks/${created.body.id}/test`, {}),
    ];
    for (const answer of await Promise.all(requests)) {
      expect(readProblem(answer)).toMatchObject({ status: 503, code: 'clock_skewed' });
      expect(answer.body.detail).toMatch(
        /clock of this machine is \d+\.\d s (ahead of|behind) that of Redis\. Set /,
      );
      expect(answer.headers['retry-after']).toBe('5');
    }
    expect((await request(api.url).get('/readyz')).status).toBe(503);
    const status = await request(api.url).get('/v1/status');
    expect(readProblem(status)).toEqual({ status: 503, code: 'clock_skewed' });
    const metrics = await request(api.url).get('/metrics');
    const [, shown] = /^webhooks_clock_skew_seconds (\S+)$/m.exec(metrics.text) ?? [];
    expect(Math.round(Number(shown))).toBe(byMs / 1_000);
    jest.restoreAllMocks();
    expect((await publish()).status).toBe(202);
    expect((await publish().set('idempotency-key', `key${byMs}`)).status).toBe(202);
    expect((await request(api.url).get('/readyz')).status).toBe(200);
  },
);

it('accepts in the time of Redis while its own differs by less than a minute', async () => {
  const now = Date.now();
  setClock(-50_000);
  const answer = await publish();
  expect(answer.status).toBe(202);
  expect(Date.parse(answer.body.created_at)).toBeGreaterThan(now - 10_000);
});
