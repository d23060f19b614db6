import type { DeliveryFilters } from '../../api/delivery-queries';
import { isNews } from './is-news';

const delivery = {
  id: 'evt_1.wh_1',
  event_id: 'evt_1',
  webhook_id: 'wh_1',
  event_type: 't',
  status: 'pending',
} as const;

describe('isNews', () => {
  it.each<[string, DeliveryFilters]>([
    ['without filters', {}],
    ['of its webhook', { webhook_id: 'wh_1' }],
    // Nothing is known of it yet.
    ['of a response', { response_status: 500 }],
  ])('is what was made, in a list %s', (_name, filters) => {
    expect(isNews({ kind: 'delivery', change: 'created', delivery }, filters)).toBe(true);
  });

  it.each<[string, DeliveryFilters]>([
    ['of another webhook', { webhook_id: 'wh_2' }],
    ['of another type', { event_type: 'u' }],
    ['of another status', { status: 'held' }],
    ['of what the data contain', { data: '{"a":1}' }],
    ['of a time that is over', { until: '2020-01-01T00:00:00.000Z' }],
    ['of attempts of a time that is over', { attempted_until: '2020-01-01T00:00:00.000Z' }],
  ])('is nothing in a list %s', (_name, filters) => {
    expect(isNews({ kind: 'delivery', change: 'created', delivery }, filters)).toBe(false);
  });

  it('is an attempt only where the list depends on its result', () => {
    const message = { kind: 'delivery', change: 'attempted', delivery } as const;
    expect(isNews(message, {})).toBe(false);
    expect(isNews(message, { status: 'pending' })).toBe(true);
    const failed = { ...message, delivery: { ...delivery, last_outcome: 'http_5xx' } } as const;
    expect(isNews(failed, { attempt_outcome: 'failed' })).toBe(true);
    expect(isNews(failed, { attempt_outcome: 'delivered,http_4xx' })).toBe(false);
  });
});
