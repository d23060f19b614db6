import { setTimeout as wait } from 'node:timers/promises';
import { watchOthers } from '../processes/measured-process';
import { percentile, printTable, writeJson } from '../report';
import type { SuiteOptions } from '../suite';
import { firstArrivals, micros } from '../traffic/events';
import type { Answers } from './attacker';
import { attacks } from './attacks';
import type { Asked, VictimRead, VictimRecord } from './victim';
import { type Attack, inWorld, type VictimWish, type World } from './world';

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
    throw new Error(`There is no attack "${wished}". The attacks are: ${[...attacks.keys()].join(', ')}.`);
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

interface MeasureOptions {
  readonly build: string;
  readonly quietSeconds: number;
  readonly attackSeconds: number;
}

/** What the other account notices, and what Redis holds. */
interface Figures {
  readonly publishP99Ms: number;
  /** From the request to publish until it came to the receiver. */
  readonly deliveryP99Ms: number;
  readonly apiP99Ms: number;
  /** The most that Redis had in RAM. */
  readonly redisMemoryMb: number;
  /** The most that the API had. */
  readonly apiMemoryMb: number;
}

type Memory = Pick<Figures, 'redisMemoryMb' | 'apiMemoryMb'>;

interface AttackResult {
  readonly quiet: Figures;
  readonly during: Figures;
  /** Of the other account's: requests that were refused, and events that never came. Their age counts as their time. */
  readonly refused: number;
  readonly missing: number;
  /** What the attacker's requests were answered with. */
  readonly answers: Answers;
  /** How many cores others than all this took while it lasted. */
  readonly coresOfOthers: number;
}

const VICTIM = 'victim';
const PER_SECOND = 20;
const WARM_UP_MS = 3_000;
const LOOK_AT_MEMORY_MS = 250;
// For what was published last; what takes longer is missing.
const ARRIVE_WITHIN_MS = 10_000;

/** What another account notices of an attack, beside the quiet before it. */
async function measureAttack(attack: Attack, options: MeasureOptions): Promise<AttackResult> {
  const { build } = options;
  const hasHistory = attack.hasHistory === true;
  return await inWorld({ build, hasHistory }, async (world) => {
    const { victim, attacker, receiver, service } = world;
    await beginVictim(world, hasHistory ? { readsOf: readOfHistory } : attack.victim);
    const plan = await attack.prepare(world);
    await wait(WARM_UP_MS);

    const quietFrom = micros();
    const quietMemory = await highestMemory(world, wait(options.quietSeconds * 1_000));
    const others = watchOthers([world.redis, service.api, service.worker, receiver, victim, attacker]);
    const from = micros();
    const attacking = attacker.attack({ url: service.url, plan, seconds: options.attackSeconds });
    const memory = await highestMemory(world, attacking);
    const until = micros();
    const coresOfOthers = others();

    const record = await victim.end();
    await receiver.waitFor(VICTIM, record.publishes.length, ARRIVE_WITHIN_MS);
    const arrivedAt = firstArrivals(await receiver.list(VICTIM));
    const figuresOf = (start: number, end: number, held: Memory) =>
      figuresBetween(record, arrivedAt, start, end, held);
    return {
      quiet: figuresOf(quietFrom, from, quietMemory),
      during: figuresOf(from, until, memory),
      refused: [...record.publishes, ...record.reads].filter(({ isRefused }) => isRefused).length,
      missing: record.publishes.filter((_, i) => !arrivedAt.has(i)).length,
      answers: await attacking,
      coresOfOthers,
    };
  });
}

async function beginVictim(
  { service, receiver, victim }: World,
  { code, readsOf = readOf }: VictimWish = {},
): Promise<void> {
  await service.createAccount(VICTIM);
  const id = await service.register(VICTIM, receiver.urlOf('ok', VICTIM), 'keyword.quick_win');
  if (code !== undefined) await service.transform(VICTIM, [id], code);
  const headers = { ...(await service.issueKey(VICTIM)), 'x-forwarded-for': '203.0.113.1' };
  await victim.begin({ url: service.url, headers, reads: readsOf(id), perSecond: PER_SECOND });
}

function readOf(webhookId: string): readonly VictimRead[] {
  return [{ method: 'GET', path: `/v1/webhooks/${webhookId}` }];
}

// PostgreSQL is asked for it, and has none.
function readOfHistory(): readonly VictimRead[] {
  return [{ method: 'GET', path: '/v1/events?until=2020-01-01T00:00:00Z' }];
}

async function highestMemory({ redis, service }: World, lasting: Promise<unknown>): Promise<Memory> {
  const now = (): Memory => ({
    redisMemoryMb: redis.residentBytes() / 1_000_000,
    apiMemoryMb: service.api.residentBytes() / 1_000_000,
  });
  let highest = now();
  const look = () => {
    const { redisMemoryMb, apiMemoryMb } = now();
    highest = {
      redisMemoryMb: Math.max(highest.redisMemoryMb, redisMemoryMb),
      apiMemoryMb: Math.max(highest.apiMemoryMb, apiMemoryMb),
    };
  };
  const timer = setInterval(look, LOOK_AT_MEMORY_MS);
  await lasting.finally(() => clearInterval(timer));
  look();
  return highest;
}

function figuresBetween(
  { publishes, reads }: VictimRecord,
  arrivedAt: ReadonlyMap<number, number>,
  start: number,
  end: number,
  memory: Memory,
): Figures {
  const now = micros();
  const isWithin = ({ sentAt }: Asked) => sentAt >= start && sentAt < end;
  const p99Ms = (times: readonly number[]) => percentile(times, 0.99) / 1_000;
  const underWay = publishes.map((asked, i) => ({ ...asked, arrivedAt: arrivedAt.get(i) ?? now }));
  return {
    publishP99Ms: p99Ms(publishes.filter(isWithin).map(({ tookMicros }) => tookMicros)),
    deliveryP99Ms: p99Ms(underWay.filter(isWithin).map((each) => each.arrivedAt - each.sentAt)),
    apiP99Ms: p99Ms(reads.filter(isWithin).map(({ tookMicros }) => tookMicros)),
    ...memory,
  };
}
