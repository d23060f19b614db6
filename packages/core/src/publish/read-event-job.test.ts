import { keywordQuickWin } from '../accounts/event-types/built-in';
import { eventIdSchema } from '../domain/event';
import { formatTime } from '../platform/clock';
import type { EventJob } from '../queue/bullmq-event-queue';
import { buildEvent } from '../testing/build-event';
import { fakePublishingParts } from '../testing/fake-publishing-parts';
import { testRetention } from '../testing/test-retention';
import { uniqueEndpointId } from '../testing/unique-ids';
import { readEventJob } from './read-event-job';

const NOW = 1_750_000_000_000;
const { name: type, example } = keywordQuickWin;
const parts = fakePublishingParts({ maxEventBytes: 1_024, clock: () => NOW });

function buildJob(data: unknown, change: Partial<EventJob> = {}): EventJob {
  return { id: '17', name: type, timestamp: 1_700_000_000_000, data, ...change };
}

/** The rest of an object's JSON after its first brace. */
const text = (object: object) => JSON.stringify(object).slice(1);

const published = { account_id: 'default', type, data: example };

describe('readEventJob', () => {
  it('takes what the API has sealed as it is, without another look at the body', async () => {
    const event = buildEvent({ body: '{"sealed":true}', acceptedAt: 1_600_000_000_000 });
    const data = {
      account_id: event.accountId,
      id: event.id,
      body: event.body,
      accepted_at: event.acceptedAt,
    };
    expect(await readEventJob(parts, buildJob(data))).toEqual({ event, source: 'http' });
  });

  it('makes an event of what a producer has pushed', async () => {
    expect(await readEventJob(parts, buildJob({ ...published, id: 'order-17' }))).toEqual({
      source: 'queue',
      event: {
        id: 'order-17',
        accountId: 'default',
        type,
        body: JSON.stringify({ type, data: example }),
        acceptedAt: 1_700_000_000_000,
      },
    });
  });

  it.each(['nonsense', '', 17, null, { traceId: 'a'.repeat(32) }])(
    'refuses no event for the sake of its trace, such as %j',
    async (trace) => {
      const { event } = await readEventJob(parts, buildJob({ ...published, trace }));
      expect(event).not.toHaveProperty('trace');
    },
  );

  it("takes a producer's place in a trace", async () => {
    const trace = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`;
    const { event } = await readEventJob(parts, buildJob({ ...published, trace }));
    expect(event.trace).toEqual({ traceId: 'a'.repeat(32), spanId: 'b'.repeat(16), isSampled: true });
  });

  it('counts an event that its producer has put off from when it was to come', async () => {
    const delay = 30 * 86_400_000;
    const { event } = await readEventJob(parts, buildJob(published, { delay }));
    expect(event.acceptedAt).toBe(1_700_000_000_000 + delay);
    const { event: undelayed } = await readEventJob(
      parts,
      buildJob(published, { timestamp: 1_700_000_000_000 + delay }),
    );
    expect(event.id.slice(0, 14)).toBe(undelayed.id.slice(0, 14));
  });

  it.each([{ timestamp: NOW + 1 }, { timestamp: 1.7e18 }, { timestamp: NOW - 1, delay: 60_000 }])(
    'takes no event for one that is yet to come, however its producer counts: %j',
    async (change) => {
      const { event } = await readEventJob(parts, buildJob(published, change));
      expect(event.acceptedAt).toBe(NOW);
    },
  );

  it.each([
    { timestamp: 1_700_000_000 },
    { timestamp: NOW - testRetention.ageMs },
    { timestamp: NOW - testRetention.ageMs - 3_600_000, deliver_at: NOW - testRetention.ageMs - 1 },
  ])('takes no event for one whose retention is over, however its producer counts: %j', async (given) => {
    const { timestamp, deliver_at } = given;
    const scheduled = deliver_at === undefined ? {} : { deliver_at: formatTime(deliver_at) };
    const { event } = await readEventJob(parts, buildJob({ ...published, ...scheduled }, { timestamp }));
    expect(event.acceptedAt).toBe(NOW);
    expect(event).not.toHaveProperty('schedule');
  });

  it('aims the event at the endpoints that were named, by the API or by a producer', async () => {
    const webhook_ids = [uniqueEndpointId(), uniqueEndpointId()];
    const accepted = { account_id: 'default', id: 'order-17', body: '{}', accepted_at: 1 };
    for (const data of [published, accepted]) {
      const { event } = await readEventJob(parts, buildJob({ ...data, webhook_ids }));
      expect(event.endpointIds).toEqual(webhook_ids);
    }
  });

  it('refuses data that is too deep to be written again', async () => {
    const depth = 100_000;
    const data: unknown = JSON.parse('['.repeat(depth) + ']'.repeat(depth));
    await expect(readEventJob(parts, buildJob({ ...published, data }))).rejects.toMatchObject({
      code: 'invalid_request',
      validationErrors: [{ pointer: '/data', detail: 'is more than 100 levels deep' }],
    });
  });

  it('checks a type that an operator has added', async () => {
    const schema = { type: 'object', required: ['id'] };
    const withInvoices = fakePublishingParts({ eventTypes: [{ name: 'invoice.paid', schema }] });
    const invoice = { account_id: 'default', type: 'invoice.paid' };
    const { event } = await readEventJob(withInvoices, buildJob({ ...invoice, data: { id: 1 } }));
    expect(event.body).toBe('{"type":"invoice.paid","data":{"id":1}}');
    await expect(readEventJob(withInvoices, buildJob({ ...invoice, data: {} }))).rejects.toMatchObject({
      validationErrors: [{ pointer: '/data/id' }],
    });
  });

  // What is copied are texts, so nothing gets it for its prototype.
  it('takes a member named __proto__ in data whose type takes any, and keeps it', async () => {
    const withInvoices = fakePublishingParts({
      eventTypes: [{ name: 'invoice.paid', schema: { type: 'object' } }],
    });
    const json = '{"__proto__":{"id":1},"a":[{"__proto__":null}]}';
    const data = JSON.parse(`{"account_id":"default","type":"invoice.paid","data":${json}}`);
    expect((await readEventJob(withInvoices, buildJob(data))).event.body).toBe(
      `{"type":"invoice.paid","data":${json}}`,
    );
  });

  describe('when the producer gave no id', () => {
    const idOf = async (change: Partial<EventJob>) =>
      (await readEventJob(parts, buildJob(published, change))).event.id;

    it('gives the same id to the same job each time it is processed', async () => {
      const id = await idOf({});
      expect(await idOf({})).toBe(id);
      expect(eventIdSchema.safeParse(id).success).toBe(true);
      expect(id).toMatch(/^evt_01hf7yat00[0-9a-z]{12}$/);
    });

    it('gives another id to another job, also to one that has the same number after Redis was emptied', async () => {
      const id = await idOf({});
      expect(await idOf({ id: '18' })).not.toBe(id);
      expect(await idOf({ timestamp: 1_700_000_000_001 })).not.toBe(id);
    });
  });

  it.each<[string, unknown, string[]]>([
    ['nothing', null, ['']],
    ['a text', 'text', ['']],
    ['no account', { ...published, account_id: undefined }, ['/account_id']],
    ['an invalid account', { ...published, account_id: 'a:b' }, ['/account_id']],
    ['no type', { ...published, type: undefined }, ['/type']],
    ['an unknown type', { ...published, type: 'keyword.lost' }, ['/type']],
    ['an invalid id', { ...published, id: 'a.b' }, ['/id']],
    ['no endpoint to aim at', { ...published, webhook_ids: [] }, ['/webhook_ids']],
    ['an invalid endpoint', { ...published, webhook_ids: ['wh_1'] }, ['/webhook_ids/0']],
    ['an endpoint that is not there', { ...published, webhook_ids: ['x'] }, ['/webhook_ids/0']],
    ['what only this service itself raises', { ...published, type: 'webhook.disabled' }, ['/type']],
    ['no data', { ...published, data: undefined }, ['/data']],
    ['wrong data', { ...published, data: { ...example, position: 0 } }, ['/data/position']],
    ['an unknown member', { ...published, colour: 'red' }, ['/colour']],
    ['a member named __proto__', JSON.parse(`{"__proto__":{},${text(published)}`), ['/__proto__']],
    [
      'one in data whose type does not know it',
      JSON.parse(`{"account_id":"default","type":"${type}","data":{"__proto__":{},${text(example)}}`),
      ['/data/__proto__'],
    ],
    [
      'a sealed body without an id',
      { account_id: 'default', body: '{}', accepted_at: 1 },
      ['/type', '/data', '/body', '/accepted_at'],
    ],
  ])('refuses %s, and points there', async (_what, data, pointers) => {
    await expect(readEventJob(parts, buildJob(data))).rejects.toMatchObject({
      name: 'AppError',
      code: 'invalid_request',
      validationErrors: pointers.map((pointer) => expect.objectContaining({ pointer })),
    });
  });

  it('refuses a body over the limit', async () => {
    const data = { ...published, data: { ...example, keyword: 'k'.repeat(1_000) } };
    await expect(readEventJob(parts, buildJob(data))).rejects.toMatchObject({
      code: 'payload_too_large',
    });
  });
});
