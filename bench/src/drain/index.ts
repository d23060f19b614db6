import { median } from '../report/median';
import { printTable } from '../report/print-table';
import type { SuiteOptions } from '../suite';
import type { Contender } from './contender';
import { type DrainResult, drain } from './drain';
import { plainContender } from './plain-contender';
import { serviceContender } from './service-contender';

const CONCURRENCY = 256;

/** Draining a full queue with one worker, beside the hand-written one, in turn, so that the machine's moods even out. */
export async function runDrainSuite({ redisUrl, short }: SuiteOptions): Promise<void> {
  const rounds = short ? 1 : 3;
  const deliveries = short ? 1_000 : 20_000;
  const options = { redisUrl, deliveries, concurrency: CONCURRENCY };
  const results = new Map<Contender, DrainResult[]>([
    [plainContender, []],
    [serviceContender, []],
  ]);
  for (let round = 1; round <= rounds; round += 1) {
    for (const [contender, list] of results) {
      const result = await drain(contender, options);
      list.push(result);
      const rate = Math.round(result.deliveriesPerSecond);
      process.stderr.write(`  round ${round} of ${rounds}: ${contender.name}, ${rate} deliveries/s\n`);
    }
  }
  print(deliveries, rounds, results);
}

function print(
  deliveries: number,
  rounds: number,
  results: ReadonlyMap<Contender, readonly DrainResult[]>,
): void {
  const [plain, service] = [plainContender, serviceContender].map((contender) =>
    medianOf(results.get(contender) ?? []),
  );
  if (!plain || !service) return;
  printTable(`Draining ${deliveries} waiting deliveries, one worker (median of ${rounds})`, [
    ['', plainContender.name, serviceContender.name, 'ratio'],
    row('deliveries per second', plain, service, 'deliveriesPerSecond'),
    row('worker CPU per delivery, µs', plain, service, 'workerMicrosPerDelivery'),
    row('Redis CPU per delivery, µs', plain, service, 'redisMicrosPerDelivery'),
  ]);
}

function row(label: string, plain: DrainResult, service: DrainResult, figure: keyof DrainResult): string[] {
  return [
    label,
    plain[figure].toFixed(0),
    service[figure].toFixed(0),
    (service[figure] / plain[figure]).toFixed(2),
  ];
}

function medianOf(results: readonly DrainResult[]): DrainResult {
  return {
    deliveriesPerSecond: median(results.map((result) => result.deliveriesPerSecond)),
    workerMicrosPerDelivery: median(results.map((result) => result.workerMicrosPerDelivery)),
    redisMicrosPerDelivery: median(results.map((result) => result.redisMicrosPerDelivery)),
  };
}
