import { hintFor } from './webhook-deliveries';

it('does not claim of a webhook with a filter that no event of its types was published', () => {
  expect(hintFor(undefined)).toBe('No event of its types was published since it was registered.');
  expect(hintFor({ total: { gte: 100 } })).toMatch(/or its filter let none pass/);
});
