import { join } from 'node:path';
import { median } from '../report/median';
import { printTable } from '../report/print-table';
import type { SuiteOptions } from '../suite';
import { measurePublishing, type PublishContender } from './measure';

const API = join(__dirname, '../../../apps/api/dist/main.js');

const bare: PublishContender = {
  name: 'bare Express route',
  script: join(__dirname, 'bare-api.js'),
  hasIdempotencyKeys: false,
};
const service: readonly PublishContender[] = [
  { name: 'this service', script: API, hasIdempotencyKeys: false },
  { name: 'this service, with Idempotency-Key', script: API, hasIdempotencyKeys: true },
];

/** What a request to publish costs the API, beside a route that only parses JSON and does one BullMQ add, in turn. */
export async function runPublishSuite({ redisUrl, short }: SuiteOptions): Promise<void> {
  const rounds = short ? 1 : 3;
  const requests = short ? 400 : 10_000;
  const results = new Map<PublishContender, number[]>([bare, ...service].map((each) => [each, []]));
  for (let round = 1; round <= rounds; round += 1) {
    for (const [contender, list] of results) {
      const rate = await measurePublishing(contender, { redisUrl, requests });
      list.push(rate);
      process.stderr.write(`  round ${round} of ${rounds}: ${contender.name}, ${Math.round(rate)}\n`);
    }
  }
  const yardstick = median(results.get(bare) ?? []);
  printTable(`POST /v1/events, ${requests} requests (median of ${rounds})`, [
    ['', 'requests per CPU second', 'ratio'],
    ...[...results].map(([{ name }, list]) => [
      name,
      median(list).toFixed(0),
      (median(list) / yardstick).toFixed(2),
    ]),
  ]);
}
