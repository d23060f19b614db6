import { routesWithIdempotencyKey } from './schema';

it('knows which routes take an Idempotency-Key', () => {
  expect(routesWithIdempotencyKey).toContain('POST /v1/events');
  expect(routesWithIdempotencyKey).not.toContain('POST /v1/webhooks/{id}/enable');
});
