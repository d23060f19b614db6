import { printTable } from '../report/print-table';
import type { SuiteOptions } from '../suite';
import type { Contender } from './contender';
import { measureScene, type SceneResult } from './measure';
import { plainContender } from './plain-contender';
import { serviceContender } from './service-contender';

interface Comparison {
  readonly alone: SceneResult;
  readonly beside: SceneResult;
}

/** What healthy endpoints notice of as many others that never answer and take half of the traffic. */
export async function runNeighboursSuite({ redisUrl, short }: SuiteOptions): Promise<void> {
  // Longer than the time-out of 15 s, so that attempts at hanging endpoints come to their end as well.
  const seconds = short ? 2 : 45;
  // As many are healthy as hang.
  const endpoints = short ? 20 : 100;
  const scene = { redisUrl, healthyEndpoints: endpoints, eventsPerSecond: 100, seconds };
  for (const contender of [plainContender, serviceContender]) {
    process.stderr.write(`  ${contender.name}: ${endpoints} healthy endpoints alone\n`);
    const alone = await measureScene(contender, { ...scene, hangingEndpoints: 0 });
    process.stderr.write(`  ${contender.name}: beside ${endpoints} that hang\n`);
    const beside = await measureScene(contender, { ...scene, hangingEndpoints: endpoints });
    print(contender, endpoints, { alone, beside });
  }
}

function print({ name }: Contender, endpoints: number, { alone, beside }: Comparison): void {
  printTable(`${name}: ${endpoints} healthy endpoints, ${endpoints} hanging ones`, [
    ['healthy endpoints', 'alone', 'beside hanging ones', 'ratio'],
    row('accepted to delivered, p50, ms', alone.p50, beside.p50),
    row('accepted to delivered, p99, ms', alone.p99, beside.p99),
    row('deliveries per second', alone.perSecond, beside.perSecond),
    ['not arrived at the end', String(alone.missing), String(beside.missing), ''],
  ]);
}

function row(label: string, alone: number, beside: number): string[] {
  return [label, alone.toFixed(0), beside.toFixed(0), (beside / alone).toFixed(2)];
}
