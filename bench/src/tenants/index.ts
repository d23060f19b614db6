import { printTable } from '../report/print-table';
import { writeJson } from '../report/write-json';
import type { SuiteOptions } from '../suite';
import type { Attack } from './attack';
import { attacks } from './attacks';
import { type AttackResult, type Figures, measureAttack } from './measure-attack';

interface Row {
  readonly attack: string;
  readonly result: AttackResult;
}

const DEFAULT_SECONDS = 30;
const SHORT_SECONDS = 3;
const QUIET_SECONDS = 10;
// Nobody notices less, whatever the quiet was.
const UNNOTICED_MS = 100;
const TIMES_QUIET = 4;

/** What an account notices of another one that does its worst, in each of many ways. */
export async function runTenantsSuite({ short, build, json, scene, seconds }: SuiteOptions): Promise<void> {
  const attackSeconds = seconds ?? (short ? SHORT_SECONDS : DEFAULT_SECONDS);
  const quietSeconds = Math.min(attackSeconds, QUIET_SECONDS);
  const wished = wishedAttacks(scene);
  const rows: Row[] = [];
  for (const [i, [name, attack]] of wished.entries()) {
    process.stderr.write(`  ${i + 1} of ${wished.length}: ${attack.name}\n`);
    rows.push({ attack: name, result: await measureAttack(attack, { build, quietSeconds, attackSeconds }) });
    await writeJson(json, { seconds: attackSeconds, rows: rows.map(toJson) });
  }
  print(rows);
}

function wishedAttacks(wished: string | undefined): [string, Attack][] {
  if (wished === undefined) return [...attacks];
  const attack = attacks.get(wished);
  if (!attack)
    throw new Error(`There is no attack "${wished}"; there are: ${[...attacks.keys()].join(', ')}.`);
  return [[wished, attack]];
}

function print(rows: readonly Row[]): void {
  printTable('What another account notices: p99 in ms, quiet → during', [
    [
      '',
      'publish',
      'delivery',
      'API',
      'Redis, MB',
      'API, MB',
      'refused',
      'missing',
      'met',
      'cores of others',
      'answers',
    ],
    ...rows.map(({ attack, result }) => {
      const { quiet, during, refused, missing, answers, coresOfOthers } = result;
      const both = (figure: keyof Figures) => `${quiet[figure].toFixed(0)} → ${during[figure].toFixed(0)}`;
      return [
        attack,
        both('publishP99Ms'),
        both('deliveryP99Ms'),
        both('apiP99Ms'),
        both('redisMemoryMb'),
        both('apiMemoryMb'),
        String(refused),
        String(missing),
        isMet(result) ? 'yes' : 'no',
        coresOfOthers.toFixed(1),
        Object.entries(answers)
          .map(([status, count]) => `${count} × ${status}`)
          .join(', '),
      ];
    }),
  ]);
}

function aimOf({ quiet }: AttackResult): Omit<Figures, 'redisMemoryMb' | 'apiMemoryMb'> {
  const aim = (quietMs: number) => Math.max(TIMES_QUIET * quietMs, UNNOTICED_MS);
  return {
    publishP99Ms: aim(quiet.publishP99Ms),
    deliveryP99Ms: aim(quiet.deliveryP99Ms),
    apiP99Ms: aim(quiet.apiP99Ms),
  };
}

function isMet(result: AttackResult): boolean {
  const aim = aimOf(result);
  return (
    result.during.publishP99Ms <= aim.publishP99Ms &&
    result.during.deliveryP99Ms <= aim.deliveryP99Ms &&
    result.during.apiP99Ms <= aim.apiP99Ms &&
    result.refused === 0 &&
    result.missing === 0
  );
}

function toJson({ attack, result }: Row) {
  const { quiet, during, refused, missing, answers, coresOfOthers } = result;
  const aim = aimOf(result);
  return {
    attack,
    publish_p99_ms: during.publishP99Ms,
    delivery_p99_ms: during.deliveryP99Ms,
    api_p99_ms: during.apiP99Ms,
    redis_memory_mb: during.redisMemoryMb,
    api_memory_mb: during.apiMemoryMb,
    quiet_publish_p99_ms: quiet.publishP99Ms,
    quiet_delivery_p99_ms: quiet.deliveryP99Ms,
    quiet_api_p99_ms: quiet.apiP99Ms,
    quiet_redis_memory_mb: quiet.redisMemoryMb,
    quiet_api_memory_mb: quiet.apiMemoryMb,
    refused,
    missing,
    answers,
    cores_of_others: coresOfOthers,
    aim: {
      publish_p99_ms: aim.publishP99Ms,
      delivery_p99_ms: aim.deliveryP99Ms,
      api_p99_ms: aim.apiP99Ms,
    },
    met: isMet(result),
  };
}
