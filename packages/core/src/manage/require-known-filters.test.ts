import { eventTypeNames } from '../catalogue/built-in/index';
import { createRequireKnownFilters } from './require-known-filters';

const requireKnownFilters = createRequireKnownFilters({ names: async () => ['order.paid', 'invoice.paid'] });

it.each(['*', 'keyword.*', 'webhook.disabled', 'invoice.paid', 'order.*'])('knows %s', async (filter) => {
  await expect(requireKnownFilters([filter])).resolves.toBeUndefined();
});

it('asks nobody about what is built in', async () => {
  const alone = createRequireKnownFilters({ names: () => Promise.reject(new Error('Asked.')) });
  await expect(alone(['brief.*', '*'])).resolves.toBeUndefined();
});

it('points to each filter that matches no type, and lists those that there are', async () => {
  const detailOf = (filter: string) =>
    `"${filter}" is not a known event type; known are ` +
    `${[...eventTypeNames, 'invoice.paid', 'order.paid'].join(', ')}, ` +
    'a prefix of them such as keyword.*, or * for all';
  await expect(requireKnownFilters(['keyword.lost', '*', 'brief'])).rejects.toMatchObject({
    code: 'invalid_request',
    faults: [
      { pointer: '/events/0', detail: detailOf('keyword.lost') },
      { pointer: '/events/2', detail: detailOf('brief') },
    ],
  });
});
