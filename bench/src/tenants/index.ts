import { setTimeout as wait } from 'node:timers/promises';
import { choose, type SuiteOptions } from '../options';
import { watchOthers } from '../processes/measured-process';
import { percentile, printTable, writeJson } from '../report';
import { firstArrivals, micros } from '../traffic/events';
import type { Answers } from './attacker';
import { attacks } from './attacks';
import type { Asked, VictimRead, VictimRecord } from './victim';
import { type Attack, inWorld, type World } from './world';

/** Of the other account's requests, by when they were sent. A delivery is from the request to publish to the receiver. */
type Times = Readonly<Record<'publish_p99_ms' | 'delivery_p99_ms' | 'api_p99_ms', number>>;

/** The most that each had in RAM. */
type Memory = Readonly<Record<'redis_memory_mb' | 'api_memory_mb', number>>;

interface AttackResult {
  readonly quiet: Times & Memory;
  readonly during: Times & Memory;
  /** Of the other account's: requests that were refused, and events that never came. Their age counts as their time. */
  readonly refused: number;
  readonly missing: number;
  /** What the attacker's requests were answered with. */
  readonly answers: Answers;
  /** How many cores others than all this took while it lasted. */
  readonly cores_of_others: number;
}

interface Row extends AttackResult {
  readonly attack: string;
  readonly aim: Times;
  readonly met: boolean;
}

const DEFAULT_SECONDS = 30;
const SHORT_SECONDS = 3;
const QUIET_SECONDS = 10;

/** What an account notices of another one that does its worst, in each of many ways. */
export async function runTenantsSuite({ short, build, json, scene, seconds }: SuiteOptions): Promise<void> {
  const attackSeconds = seconds ?? (short ? SHORT_SECONDS : DEFAULT_SECONDS);
  const wished = choose('attack', attacks, scene);
  const rows: Row[] = [];
  for (const [i, [name, attack]] of wished.entries()) {
    process.stderr.write(`  ${i + 1} of ${wished.length}: ${attack.name}\n`);
    rows.push({ attack: name, ...judge(await measureAttack(attack, build, attackSeconds)) });
    await writeJson(json, { seconds: attackSeconds, rows: rows.map(toJson) });
  }
  print(rows);
}

// Nobody notices less, whatever the quiet was.
const UNNOTICED_MS = 100;
const TIMES_QUIET = 4;

function judge(result: AttackResult): Omit<Row, 'attack'> {
  const { quiet, during, refused, missing } = result;
  const aimOf = (quietMs: number) => Math.max(TIMES_QUIET * quietMs, UNNOTICED_MS);
  const aim = {
    publish_p99_ms: aimOf(quiet.publish_p99_ms),
    delivery_p99_ms: aimOf(quiet.delivery_p99_ms),
    api_p99_ms: aimOf(quiet.api_p99_ms),
  };
  const isSlow = Object.entries(aim).some(([name, mostMs]) => !(during[name as keyof Times] <= mostMs));
  return { ...result, aim, met: !isSlow && refused === 0 && missing === 0 };
}

function print(rows: readonly Row[]): void {
  const headings = ['', 'publish', 'delivery', 'API', 'Redis, MB', 'API, MB', 'refused', 'missing', 'met'];
  printTable('What another account notices: p99 in ms, quiet → during', [
    [...headings, 'cores of others', 'answers'],
    ...rows.map(({ attack, quiet, during, refused, missing, met, answers, cores_of_others }) => {
      const both = (name: keyof (Times & Memory)) => `${quiet[name].toFixed(0)} → ${during[name].toFixed(0)}`;
      return [
        attack,
        both('publish_p99_ms'),
        both('delivery_p99_ms'),
        both('api_p99_ms'),
        both('redis_memory_mb'),
        both('api_memory_mb'),
        String(refused),
        String(missing),
        met ? 'yes' : 'no',
        cores_of_others.toFixed(1),
        Object.entries(answers)
          .map(([status, count]) => `${count} × ${status}`)
          .join(', '),
      ];
    }),
  ]);
}

function toJson({ attack, quiet, during, ...others }: Row) {
  const before = Object.entries(quiet).map(([name, value]) => [`quiet_${name}`, value]);
  return { attack, ...during, ...Object.fromEntries(before), ...others };
}

const VICTIM = 'victim';
const PER_SECOND = 20;
const WARM_UP_MS = 3_000;
const LOOK_AT_MEMORY_MS = 250;
// For what was published last; what takes longer is missing.
const ARRIVE_WITHIN_MS = 10_000;

/** What another account notices of an attack, beside the quiet before it. */
async function measureAttack(attack: Attack, build: string, attackSeconds: number): Promise<AttackResult> {
  return await inWorld(build, attack, async (world) => {
    const { victim, attacker, receiver, service } = world;
    await beginVictim(world, attack);
    const plan = await attack.prepare(world);
    await wait(WARM_UP_MS);

    const quietFrom = micros();
    const quietMemory = await highestMemory(world, wait(Math.min(attackSeconds, QUIET_SECONDS) * 1_000));
    const others = watchOthers([world.redis, service.api, service.worker, receiver, victim, attacker]);
    const from = micros();
    const attacking = attacker.ask('attack', { url: service.url, plan, seconds: attackSeconds });
    const memory = await highestMemory(world, attacking);
    const until = micros();
    const coresOfOthers = others();

    const record = await victim.ask('end');
    await receiver.waitFor(VICTIM, record.publishes.length, ARRIVE_WITHIN_MS);
    const arrivedAt = firstArrivals(await receiver.ask('list', VICTIM));
    return {
      quiet: { ...timesBetween(record, arrivedAt, quietFrom, from), ...quietMemory },
      during: { ...timesBetween(record, arrivedAt, from, until), ...memory },
      refused: [...record.publishes, ...record.reads].filter(({ isRefused }) => isRefused).length,
      missing: record.publishes.filter((_, i) => !arrivedAt.has(i)).length,
      answers: await attacking,
      cores_of_others: coresOfOthers,
    };
  });
}

async function beginVictim(
  { service, receiver, victim }: World,
  { victim: { code, readsOf = readOf } = {} }: Attack,
): Promise<void> {
  await service.createAccount(VICTIM);
  const id = await service.register(VICTIM, receiver.urlOf('ok', VICTIM));
  if (code !== undefined) await service.transform(VICTIM, [id], code);
  const headers = { ...(await service.issueKey(VICTIM)), 'x-forwarded-for': '203.0.113.1' };
  await victim.ask('begin', { url: service.url, headers, reads: readsOf(id), perSecond: PER_SECOND });
}

function readOf(webhookId: string): readonly VictimRead[] {
  return [{ method: 'GET', path: `/v1/webhooks/${webhookId}` }];
}

async function highestMemory({ redis, service }: World, lasting: Promise<unknown>): Promise<Memory> {
  const highest = { redis_memory_mb: 0, api_memory_mb: 0 };
  const look = () => {
    highest.redis_memory_mb = Math.max(highest.redis_memory_mb, redis.residentBytes() / 1_000_000);
    highest.api_memory_mb = Math.max(highest.api_memory_mb, service.api.residentBytes() / 1_000_000);
  };
  look();
  const timer = setInterval(look, LOOK_AT_MEMORY_MS);
  await lasting.finally(() => clearInterval(timer));
  look();
  return highest;
}

function timesBetween(
  { publishes, reads }: VictimRecord,
  arrivedAt: ReadonlyMap<number, number>,
  start: number,
  end: number,
): Times {
  const now = micros();
  const isWithin = ({ sentAt }: Asked) => sentAt >= start && sentAt < end;
  const p99Ms = (times: readonly number[]) => percentile(times, 0.99) / 1_000;
  const underWay = publishes.map((asked, i) => ({ ...asked, arrivedAt: arrivedAt.get(i) ?? now }));
  return {
    publish_p99_ms: p99Ms(publishes.filter(isWithin).map(({ tookMicros }) => tookMicros)),
    delivery_p99_ms: p99Ms(underWay.filter(isWithin).map((each) => each.arrivedAt - each.sentAt)),
    api_p99_ms: p99Ms(reads.filter(isWithin).map(({ tookMicros }) => tookMicros)),
  };
}
