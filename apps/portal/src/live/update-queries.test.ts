import { QueryClient } from '@tanstack/react-query';
import type { Delivery } from '../api/delivery-queries';
import { queryKeys } from '../api/query-keys';
import { updateQueries } from './update-queries';

const row: Delivery = {
  id: 'evt_1.wh_1',
  event_id: 'evt_1',
  webhook_id: 'wh_1',
  type: 't',
  status: 'pending',
  attempt_count: 1,
  last_outcome: 'http_5xx',
  last_response_status: 500,
  next_attempt_at: '2030-01-31T12:00:00.000Z',
  hold: null,
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

  it('has what a webhook or a replay is about read anew', () => {
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
