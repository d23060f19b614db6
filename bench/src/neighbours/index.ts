import { printTable } from '../report/print-table';
import type { SuiteOptions } from '../suite';
import type { Contender } from './contender';
import { measureScene, type SceneResult } from './measure';
import { plainContender } from './plain-contender';
import { serviceContender } from './service-contender';

const HEALTHY = 100;
const HANGING = 100;

interface Comparison {
  readonly alone: SceneResult;
  readonly beside: SceneResult;
}

/** What healthy endpoints notice of as many others that never answer and take half of the traffic. */
export async function runNeighboursSuite({ redisUrl, short }: SuiteOptions): Promise<void> {
  // Longer than the time-out of 15 s, so that attempts at hanging endpoints come to their end as well.
  const scene = { redisUrl, healthyEndpoints: HEALTHY, eventsPerSecond: 100, seconds: short ? 3 : 45 };
  for (const contender of [plainContender, serviceContender]) {
    process.stderr.write(`  ${contender.name}: ${HEALTHY} healthy endpoints alone\n`);
    const alone = await measureScene(contender, { ...scene, hangingEndpoints: 0 });
    process.stderr.write(`  ${contender.name}: beside ${HANGING} that hang\n`);
    const beside = await measureScene(contender, { ...scene, hangingEndpoints: HANGING });
    print(contender, { alone, beside });
  }
}

function print({ name }: Contender, { alone, beside }: Comparison): void {
  printTable(`${name}: ${HEALTHY} healthy endpoints, ${HANGING} hanging ones`, [
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
