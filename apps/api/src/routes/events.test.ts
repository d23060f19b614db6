import { publishableTypeNames, publishableTypes } from '@webhooks/core/events/catalogue/index';
import { keywordQuickWin } from '@webhooks/core/events/catalogue/keyword-quick-win';
import type { AccountId } from '@webhooks/core/events/event';
import { EVENTS_QUEUE } from '@webhooks/core/queue/queue-names';
import { readEventJob } from '@webhooks/core/queue/read-event-job';
import { Queue } from 'bullmq';
import request, { type Test } from 'supertest';
import { readProblem } from '../testing/read-problem';
import { MAX_EVENT_BYTES, startTestApi, type TestApi } from '../testing/start-test-api';

let api: TestApi;
let jobs: Queue;
let key: string;
let accountId: AccountId;
beforeAll(async () => {
  api = await startTestApi();
  jobs = new Queue(EVENTS_QUEUE, { connection: api.redis.client });
});
beforeEach(async () => {
  ({ key, accountId } = await api.issueKey());
  await jobs.drain();
});
afterAll(async () => {
  await jobs.close();
  await api.close();
});

function publish(body: object): Test {
  return request(api.url).post('/v1/events').set('authorization', `Bearer ${key}`).send(body);
}

/** The events on the queue, as the worker will read them. */
async function queuedEvents() {
  const waiting = await jobs.getWaiting();
  return waiting.map(({ id = '', name, timestamp, data }) =>
    readEventJob({ id, name, timestamp, data }, MAX_EVENT_BYTES),
  );
}

const { name: type, example: data } = keywordQuickWin;

describe('POST /v1/events', () => {
  it.each(publishableTypes.map(({ name, example }) => [name, example] as const))(
    'accepts a %s once it is on the queue, with the body that will be delivered',
    async (name, example) => {
      const { status, body } = await publish({ type: name, data: example });
      expect(status).toBe(202);
      expect(body).toEqual({
        id: expect.stringMatching(/^evt_[0-9a-z]{22}$/),
        type: name,
        created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      });
      expect(await queuedEvents()).toEqual([
        {
          source: 'http',
          event: {
            id: body.id,
            accountId,
            type: name,
            body: JSON.stringify({ type: name, data: example }),
            acceptedAt: Date.parse(body.created_at),
          },
        },
      ]);
    },
  );

  it('makes an event of each request', async () => {
    const answers = [await publish({ type, data }), await publish({ type, data })];
    expect(answers[0]?.body.id).not.toBe(answers[1]?.body.id);
    expect(await queuedEvents()).toHaveLength(2);
  });

  it.each<[string, object, string[]]>([
    ['no type', { data }, ['/type']],
    ['a type that is no text', { type: 1, data }, ['/type']],
    ['an unknown type', { type: 'keyword.lost', data }, ['/type']],
    ['a filter for a type', { type: 'keyword.*', data }, ['/type']],
    ['no data', { type }, ['/data']],
    ['a type that only the service raises', { type: 'webhook.disabled', data: {} }, ['/type']],
    ['null as data', { type, data: null }, ['/data']],
    ['no members in data', { type, data: {} }, ['/data/keyword', '/data/position', '/data/volume']],
    ['a wrong value in data', { type, data: { ...data, position: 'top' } }, ['/data/position']],
    ['an unknown member in data', { type, data: { ...data, colour: 'red' } }, ['/data/colour']],
    ['the data of another type', { type: 'brief.created', data: { brief_id: 'b' } }, ['/data/title']],
    ['an unknown member', { type, data, colour: 'red' }, ['/colour']],
    ['an account, which is that of the key', { type, data, account_id: 'default' }, ['/account_id']],
  ])('refuses %s, and queues nothing', async (_what, body, pointers) => {
    expect(readProblem(await publish(body))).toEqual({ status: 422, code: 'invalid_request', pointers });
    expect(await queuedEvents()).toEqual([]);
  });

  it('lists the known types to whoever names another one', async () => {
    const { body } = await publish({ type: 'keyword.lost', data });
    expect(body.errors[0].detail).toContain(publishableTypeNames.join(', '));
  });

  it('takes an event up to the limit, and none that is a byte longer', async () => {
    const frame = JSON.stringify({ type, data: { ...data, keyword: '' } });
    const keyword = 'k'.repeat(MAX_EVENT_BYTES - frame.length);
    expect((await publish({ type, data: { ...data, keyword } })).status).toBe(202);
    expect(readProblem(await publish({ type, data: { ...data, keyword: `${keyword}k` } }))).toEqual({
      status: 413,
      code: 'payload_too_large',
    });
  });

  it('is announced, and counted by its type', async () => {
    const { body } = await publish({ type, data });
    expect(api.signals.named('event.accepted').at(-1)).toMatchObject({
      source: 'http',
      accountId,
      eventId: body.id,
      type,
    });
    const { text } = await request(api.url).get('/metrics');
    expect(text).toMatch(/^webhooks_events_accepted_total\{type="keyword\.quick_win",source="http"\} [1-9]/m);
  });
});
