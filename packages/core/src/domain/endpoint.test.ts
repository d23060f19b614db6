import { buildEndpoint } from '../testing/build-endpoint';
import { batchLimitsOf, usesLane } from './endpoint';

it.each([
  ['client', false],
  ['failing', false],
  ['operator', true],
] as const)(
  'uses lanes while it is disabled and discards only if nothing is discarded: %s',
  (disabledReason, uses) => {
    const endpoint = buildEndpoint({ ordering: 'group', whileDisabled: 'discard' });
    expect(usesLane(endpoint)).toBe(true);
    expect(usesLane({ ...endpoint, status: 'disabled', disabledReason })).toBe(uses);
  },
);

it('sends the newest of a group alone, also as a list', () => {
  const list = buildEndpoint({ ordering: 'group', format: 'cloudevents_batch' });
  expect(batchLimitsOf(list)).toMatchObject({ maxEvents: 1 });
  expect(batchLimitsOf({ ...list, coalesce: { window_ms: 1 } })).toBeUndefined();
});
