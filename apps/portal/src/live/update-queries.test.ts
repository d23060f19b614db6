import { QueryClient } from '@tanstack/react-query';
import type { Delivery } from '../api/delivery-queries';
import { queryKeys } from '../api/query-keys';
import type { LiveMessage } from './live-message';
import { updateQueries } from './update-queries';

type DeliveryMessage = Extract<LiveMessage, { kind: 'delivery' }>;

const row: Delivery = {
  id: 'evt_1.wh_1',
  event_id: 'evt_1',
  webhook_id: 'wh_1',
  event_type: 't',
  status: 'pending',
  attempt_count: 1,
  last_outcome: 'http_5xx',
  last_response_status: 500,
  next_attempt_at: '2030-01-31T12:00:00.000Z',
  hold: null,
  matching_attempts: null,
  created_at: '2030-01-31T11:00:00.000Z',
};
const pageOf = (...data: Delivery[]) => ({ pages: [{ data, next_cursor: null }], pageParams: [undefined] });

describe('updateQueries', () => {
  it('changes a row where it stands, in every list that has it, by what is known', () => {
    const queries = new QueryClient();
    const other = { ...row, id: 'evt_2.wh_1' };
    queries.setQueryData(queryKeys.deliveries({}), pageOf(other, row));
    const untouched = pageOf(other);
    queries.setQueryData(queryKeys.deliveries({ status: 'held' }), untouched);
    const delivery = { ...row, status: 'delivered' as const, next_attempt_at: null };
    const { created_at: _, ...known } = delivery;
    updateQueries(queries, { kind: 'delivery', change: 'ended', delivery: known });
    expect(queries.getQueryData(queryKeys.deliveries({}))).toEqual(pageOf(other, delivery));
    expect(queries.getQueryData(queryKeys.deliveries({ status: 'held' }))).toBe(untouched);
  });

  it.each<[string, Partial<Delivery>, DeliveryMessage['change'], Partial<Delivery>, Partial<Delivery>]>([
    [
      'one of fewer attempts',
      { status: 'delivered', attempt_count: 2 },
      'attempted',
      { status: 'pending', attempt_count: 1 },
      { status: 'delivered', attempt_count: 2 },
    ],
    [
      'that it was made, told late',
      { status: 'held', attempt_count: 0 },
      'created',
      { status: 'pending', attempt_count: 0 },
      { status: 'held', attempt_count: 0 },
    ],
    ['that it is held', { status: 'pending' }, 'held', { status: 'held' }, { status: 'held' }],
    ['that it is let go', { status: 'held' }, 'requested', { status: 'pending' }, { status: 'pending' }],
    [
      'that it is redelivered',
      { status: 'delivered' },
      'requested',
      { status: 'pending' },
      { status: 'pending' },
    ],
    [
      'the next attempt at what was redelivered',
      { status: 'pending', attempt_count: 1 },
      'attempted',
      { attempt_count: 2, last_response_status: 204 },
      { status: 'pending', attempt_count: 2, last_response_status: 204 },
    ],
    [
      'its end, of as many attempts',
      { status: 'pending', attempt_count: 1 },
      'ended',
      { status: 'exhausted', next_attempt_at: null },
      { status: 'exhausted', attempt_count: 1, next_attempt_at: null },
    ],
  ])('has a row follow what is newer than it alone: %s', (_, shown, change, told, expected) => {
    const queries = new QueryClient();
    queries.setQueryData(queryKeys.deliveries({}), pageOf({ ...row, ...shown }));
    const { id, event_id, webhook_id } = row;
    updateQueries(queries, { kind: 'delivery', change, delivery: { id, event_id, webhook_id, ...told } });
    expect(queries.getQueryData(queryKeys.deliveries({}))).toEqual(pageOf({ ...row, ...expected }));
  });

  it('has what a webhook or a replay is about read again', () => {
    const queries = new QueryClient();
    const keys = [
      queryKeys.webhook('wh_1'),
      queryKeys.webhook('wh_2'),
      queryKeys.webhooks(),
      queryKeys.events({}),
    ];
    for (const key of keys) queries.setQueryData(key, 'read');
    updateQueries(queries, { kind: 'webhook', change: 'disabled', webhookId: 'wh_1' });
    expect(keys.map((key) => queries.getQueryState(key)?.isInvalidated)).toEqual([true, false, true, false]);
  });
});
