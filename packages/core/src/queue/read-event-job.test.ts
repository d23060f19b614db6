import { keywordQuickWin } from '../events/catalogue/keyword-quick-win';
import { eventIdSchema } from '../events/event';
import { buildEvent } from '../testing/build-event';
import { caughtFrom } from '../testing/caught-from';
import { uniqueEndpointId } from '../testing/unique-ids';
import { type EventJob, readEventJob } from './read-event-job';

const MAX_BYTES = 1_024;
const { name: type, example } = keywordQuickWin;

function buildJob(data: unknown, change: Partial<EventJob> = {}): EventJob {
  return { id: '17', name: type, timestamp: 1_700_000_000_000, data, ...change };
}

const published = { account_id: 'default', type, data: example };

describe('readEventJob', () => {
  it('takes what the API has sealed as it is, without another look at the body', () => {
    const event = buildEvent({ body: '{"sealed":true}', acceptedAt: 1_600_000_000_000 });
    const data = {
      account_id: event.accountId,
      id: event.id,
      body: event.body,
      accepted_at: event.acceptedAt,
    };
    expect(readEventJob(buildJob(data), MAX_BYTES)).toEqual({ event, source: 'http' });
  });

  it('makes an event of what a producer has pushed', () => {
    expect(readEventJob(buildJob({ ...published, id: 'order-17' }), MAX_BYTES)).toEqual({
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

  it('aims the event at the endpoints that were named, by the API or by a producer', () => {
    const webhook_ids = [uniqueEndpointId(), uniqueEndpointId()];
    const accepted = { account_id: 'default', id: 'order-17', body: '{}', accepted_at: 1 };
    for (const data of [published, accepted]) {
      const { event } = readEventJob(buildJob({ ...data, webhook_ids }), MAX_BYTES);
      expect(event.endpointIds).toEqual(webhook_ids);
    }
  });

  it('refuses data that is too deep to be written again', () => {
    const depth = 100_000;
    const data: unknown = JSON.parse('['.repeat(depth) + ']'.repeat(depth));
    expect(caughtFrom(() => readEventJob(buildJob({ ...published, data }), MAX_BYTES))).toMatchObject({
      code: 'invalid_request',
      faults: [{ pointer: '/data', detail: 'is more than 100 levels deep' }],
    });
  });

  describe('when the producer gave no id', () => {
    const idOf = (change: Partial<EventJob>) => readEventJob(buildJob(published, change), MAX_BYTES).event.id;

    it('gives the same id to the same job each time it is processed', () => {
      expect(idOf({})).toBe(idOf({}));
      expect(eventIdSchema.safeParse(idOf({})).success).toBe(true);
      expect(idOf({})).toMatch(/^evt_01hf7yat00[0-9a-z]{12}$/);
    });

    it('gives another id to another job, also to one that has the same number after Redis was emptied', () => {
      expect(idOf({ id: '18' })).not.toBe(idOf({}));
      expect(idOf({ timestamp: 1_700_000_000_001 })).not.toBe(idOf({}));
    });
  });

  it.each<[string, unknown, string[]]>([
    ['nothing', null, ['']],
    ['a text', 'text', ['']],
    ['no account', { ...published, account_id: undefined }, ['/account_id']],
    ['an account that is none', { ...published, account_id: 'a:b' }, ['/account_id']],
    ['no type', { ...published, type: undefined }, ['/type']],
    ['an unknown type', { ...published, type: 'keyword.lost' }, ['/type']],
    ['an id that is none', { ...published, id: 'a.b' }, ['/id']],
    ['no endpoint to aim at', { ...published, webhook_ids: [] }, ['/webhook_ids']],
    ['an endpoint that is none', { ...published, webhook_ids: ['x'] }, ['/webhook_ids/0']],
    ['no data', { ...published, data: undefined }, ['/data']],
    ['wrong data', { ...published, data: { ...example, position: 0 } }, ['/data/position']],
    ['an unknown member', { ...published, colour: 'red' }, ['/colour']],
    [
      'a sealed body without an id',
      { account_id: 'default', body: '{}', accepted_at: 1 },
      ['/type', '/data', '/body', '/accepted_at'],
    ],
  ])('refuses %s, and points there', (_what, data, pointers) => {
    const error = caughtFrom(() => readEventJob(buildJob(data), MAX_BYTES));
    expect(error).toMatchObject({ name: 'AppError', code: 'invalid_request' });
    expect((error as { faults: { pointer: string }[] }).faults.map(({ pointer }) => pointer)).toEqual(
      pointers,
    );
  });

  it('refuses a body over the limit', () => {
    const data = { ...published, data: { ...example, keyword: 'k'.repeat(1_000) } };
    expect(caughtFrom(() => readEventJob(buildJob(data), MAX_BYTES))).toMatchObject({
      code: 'payload_too_large',
    });
  });
});
