import { keywordQuickWin } from '@hookferry/core/catalogue/built-in/keyword-quick-win';
import type { AccountId } from '@hookferry/core/model/event';
import { uniqueEndpointId } from '@hookferry/core/testing/unique-ids';
import request, { type Test } from 'supertest';
import { readAcceptedEvents } from '../testing/read-accepted-events';
import { readProblem } from '../testing/read-problem';
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

const { name: type, example: data } = keywordQuickWin;
const event = { type, data };

function publish(events: unknown): Test {
  return request(api.url).post('/v1/events/batch').set('authorization', `Bearer ${key}`).send({ events });
}

async function acceptedBodies(): Promise<(string | undefined)[]> {
  return (await readAcceptedEvents(api, accountId)).map(({ body }) => body);
}

const acceptedWith = (status: number, id: unknown) => ({ status, id, type, created_at: expect.any(String) });

describe('POST /v1/events/batch', () => {
  it('refuses what only this service itself raises', async () => {
    const { body } = await publish([event, { type: 'webhook.disabled', data: {} }]);
    expect(body.data).toMatchObject([
      { status: 202 },
      {
        status: 422,
        error: {
          errors: [
            {
              pointer: '/events/1/type',
              detail: expect.stringContaining('is raised by this service itself and can not be published'),
            },
          ],
        },
      },
    ]);
  });

  it('answers for each event in order, and one that is refused sinks no other', async () => {
    const large = { ...event, data: { ...data, keyword: 'k'.repeat(1_000) } };
    const { status, body } = await publish([
      event,
      { ...event, data: { ...data, position: 0 } },
      { ...event, id: 'order-1' },
      'no event',
      { ...event, colour: 'red' },
      { ...event, webhook_ids: [uniqueEndpointId()] },
      large,
      { ...event, id: 'order-1' },
      { ...event, id: 'order-1', data: { ...data, position: 2 } },
    ]);
    const invalid = (pointer: string) => ({
      status: 422,
      error: {
        code: 'invalid_request',
        detail: expect.any(String),
        errors: [{ pointer, detail: expect.any(String) }],
      },
    });
    expect(status).toBe(200);
    expect(body).toEqual({
      data: [
        acceptedWith(202, expect.stringMatching(/^evt_/)),
        invalid('/events/1/data/position'),
        acceptedWith(202, 'order-1'),
        invalid('/events/3'),
        invalid('/events/4/colour'),
        invalid('/events/5/webhook_ids/0'),
        { status: 413, error: { code: 'payload_too_large', detail: expect.any(String) } },
        acceptedWith(200, 'order-1'),
        { status: 409, error: { code: 'event_id_conflict', detail: expect.any(String) } },
      ],
    });
    expect(await acceptedBodies()).toHaveLength(2);
  });

  it('takes 500 events, in the order in which they came, byte for byte', async () => {
    const texts = Array.from({ length: 500 }, (_, i) => `{"keyword": "k","position":${i + 1}.0,"volume":-0}`);
    const text = `{"events":[${texts.map((exact) => `{"data":${exact},"type":"${type}"}`).join(' ,\n')}]}`;
    const { status, body } = await publish([])
      .set('content-type', 'application/json')
      .serialize(() => text);
    expect(status).toBe(200);
    expect(new Set(body.data.map((item: { id: string }) => item.id)).size).toBe(500);
    const expected = texts.map((exact) => `{"type":"${type}","data":${exact}}`);
    expect(await acceptedBodies()).toEqual(expected);
  });

  it('takes far more bytes than one event may have', async () => {
    const filled = { ...event, data: { ...data, keyword: 'k'.repeat(900) } };
    const { status, body } = await publish(Array.from({ length: 100 }, () => filled));
    expect(status).toBe(200);
    expect(body.data.every((item: { status: number }) => item.status === 202)).toBe(true);
  });

  it.each([
    ['no list', { events: event }.events],
    ['an empty list', []],
    [
      'events that are aimed at more than 1,000 webhooks together',
      Array.from({ length: 11 }, (_, i) => ({
        ...event,
        webhook_ids: Array.from({ length: i === 0 ? 1 : 100 }, uniqueEndpointId),
      })),
    ],
    ['more than 500 events', Array.from({ length: 501 }, () => event)],
  ])('refuses %s as a whole with 422', async (_what, events) => {
    expect(readProblem(await publish(events))).toEqual({
      status: 422,
      code: 'invalid_request',
      pointers: ['/events'],
    });
    expect(await acceptedBodies()).toEqual([]);
  });
});
