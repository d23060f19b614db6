import type { AccountId } from '@hookferry/core/domain/account';
import type { AcceptedEvent } from '@hookferry/core/domain/event';
import { EventStore } from '@hookferry/core/events/redis-event-store';
import { buildEvent } from '@hookferry/core/testing/build-event';
import { testRetention } from '@hookferry/core/testing/test-retention';
import request, { type Test } from 'supertest';
import { readProblem } from '../testing/read-problem';
import { startTestApi, type TestApi } from '../testing/start-test-api';

const ACCEPTED_AT = Date.parse('2026-11-21T12:00:00.000Z');
const filter = { position: { lte: 10 } };

let api: TestApi;
let key: string;
let accountId: AccountId;
beforeAll(async () => {
  // Beyond what is large: see the heavy turns.
  api = await startTestApi({ MAX_EVENT_BYTES: '65536' });
});
beforeEach(async () => {
  ({ key, accountId } = await api.issueKey());
});
afterAll(() => api.close());

function send(method: 'post' | 'patch', path: string, body: object, as = key): Test {
  return request(api.url)[method](path).set('authorization', `Bearer ${as}`).send(body);
}

const tryFilter = (body: object, as = key) => send('post', '/v1/filters/try', body, as);
const store = () => new EventStore(api.redis.client, testRetention);

/** An event of the past, its data as JSON. */
async function saved(at: number, data: string, type = 'keyword.quick_win'): Promise<AcceptedEvent> {
  const body = `{"type":"${type}","data":${data}}`;
  const event = buildEvent({ accountId, type, body, acceptedAt: ACCEPTED_AT + at });
  await store().save(event);
  await store().enlist(event);
  return event;
}

describe('POST /v1/filters/try', () => {
  it('tries a filter on data, and says why', async () => {
    const { body } = await tryFilter({ filter, data: { position: 11 } }).expect(200);
    const because = [{ path: 'position', operator: 'lte', expected: 10, found: 11, holds: false }];
    const result = { event_id: null, type: null, created_at: null, matches: false, because };
    expect(body).toEqual({ looked_at: 1, matched: 0, results: [result] });
  });

  it('tries it on data whose members may have any name, and may be null', async () => {
    const text = '{"filter":{"\\\\__proto__":1},"data":{"__proto__":1}}';
    const answer = await tryFilter({})
      .set('content-type', 'application/json')
      .serialize(() => text);
    expect(answer.body).toMatchObject({ looked_at: 1, matched: 1 });
    expect((await tryFilter({ filter, data: null })).body).toMatchObject({ looked_at: 1, matched: 0 });
  });

  it("tries it on the catalogue's example", async () => {
    const { body } = await tryFilter({ filter, event_type: 'keyword.quick_win' }).expect(200);
    expect(body).toMatchObject({ looked_at: 1, results: [{ event_id: null, type: 'keyword.quick_win' }] });
    expect(readProblem(await tryFilter({ filter, event_type: 'no.such' }))).toEqual({
      status: 422,
      code: 'invalid_request',
      pointers: ['/event_type'],
    });
  });

  it('tries it on an event, of the own account alone', async () => {
    const { id } = await saved(0, '{"position":4}');
    const { body } = await tryFilter({ filter, event_id: id }).expect(200);
    expect(body).toMatchObject({
      looked_at: 1,
      matched: 1,
      results: [
        { event_id: id, type: 'keyword.quick_win', created_at: '2026-11-21T12:00:00.000Z', matches: true },
      ],
    });
    const { key: other } = await api.issueKey();
    expect(readProblem(await tryFilter({ filter, event_id: id }, other))).toEqual({
      status: 422,
      code: 'invalid_request',
      pointers: ['/event_id'],
    });
  });

  it('tries it on the last events, newest first, and tells of those whose payload was erased', async () => {
    const near = await saved(0, '{"position":4}');
    const far = await saved(1, '{"position":40}');
    const erased = await saved(2, '{"position":4}');
    const brief = await saved(3, '{"brief_id":"b"}', 'brief.created');
    await store().erasePayload(accountId, erased.id, ACCEPTED_AT);
    const { body } = await tryFilter({ filter }).expect(200);
    const told = (answer: typeof body) =>
      answer.results.map(({ event_id, matches }: Record<string, unknown>) => [event_id, matches]);
    expect(told(body)).toEqual([
      [brief.id, false],
      [erased.id, null],
      [far.id, false],
      [near.id, true],
    ]);
    expect(body).toMatchObject({ looked_at: 3, matched: 1 });
    expect(told((await tryFilter({ filter, last: 1 })).body)).toEqual([[brief.id, false]]);
    const { body: keywords } = await tryFilter({ filter, events: ['keyword.*'], last: 2 });
    expect(told(keywords)).toEqual([
      [erased.id, null],
      [far.id, false],
    ]);
  });

  it('shows what was published only to keys that may read it', async () => {
    const { id } = await saved(0, '{"position":4}');
    const { key: narrow } = await api.issueKey({ accountId, scopes: ['webhooks:read'] });
    await tryFilter({ filter, data: {} }, narrow).expect(200);
    await tryFilter({ filter, event_type: 'keyword.quick_win' }, narrow).expect(200);
    for (const body of [{ filter, event_id: id }, { filter }]) {
      expect(readProblem(await tryFilter(body, narrow))).toMatchObject({ code: 'insufficient_scope' });
    }
  });

  it.each<[string, object, string[]]>([
    ['no filter', { data: {} }, ['/filter']],
    [
      'a filter that is none',
      { filter: { position: { lte: 'ten' }, a: { lessthan: 1 } } },
      ['/filter/a/lessthan'],
    ],
    ['several things at once', { filter, data: {}, event_id: 'e', last: 1 }, ['/event_id', '/last']],
    ['too many', { filter, last: 101 }, ['/last']],
    ['types that there are none of', { filter, events: ['no.such'] }, ['/events/0']],
  ])('refuses %s', async (_what, body, pointers) => {
    expect(readProblem(await tryFilter(body))).toEqual({ status: 422, code: 'invalid_request', pointers });
  });

  it('takes one turn for large data, not a second one that waits for the first to end', async () => {
    const data = { position: 1, text: 'x'.repeat(20_000) };
    const answers = await Promise.all(Array.from({ length: 5 }, () => tryFilter({ filter, data })));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
  });
});

describe('the filter of a webhook', () => {
  const webhook = { url: 'https://receiver.example.com/hooks', events: ['*'] };

  it('is given, replaced as a whole, and taken away', async () => {
    const { body } = await send('post', '/v1/webhooks', { ...webhook, filter }).expect(201);
    expect(body).toMatchObject({ filter });
    const path = `/v1/webhooks/${body.id}`;
    const other = { 'a.b': null, $any: [{ c: 1 }, { c: { exists: false } }] };
    expect((await send('patch', path, { filter: other }).expect(200)).body.filter).toEqual(other);
    expect((await send('patch', path, { description: 'x' }).expect(200)).body.filter).toEqual(other);
    expect((await send('patch', path, { filter: null }).expect(200)).body).not.toHaveProperty('filter');
  });

  it('is refused with where it is wrong', async () => {
    const wrong = { position: { lte: '10' } };
    const answer = await send('post', '/v1/webhooks', { ...webhook, filter: wrong });
    expect(answer.body.errors).toEqual([
      { pointer: '/filter/position/lte', detail: 'must be a number: 10, without quotes' },
    ]);
  });
});
