import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { routesWithIdempotencyKey } from './schema';

const ROOT = join(__dirname, '..', '..', '..');

it('schema.ts was written from docs/openapi.json as it is; otherwise run: npm run client-types', () => {
  const document = readFileSync(join(ROOT, 'docs/openapi.json'));
  const digest = createHash('sha256').update(document).digest('hex');
  const head = readFileSync(join(__dirname, 'schema.ts'), 'utf8').slice(0, 500);
  expect(head).toContain(`docs/openapi.json: sha256 ${digest}`);
});

it('knows which routes take an Idempotency-Key', () => {
  expect(routesWithIdempotencyKey).toContain('POST /v1/events');
  expect(routesWithIdempotencyKey).not.toContain('POST /v1/webhooks/{id}/enable');
});
