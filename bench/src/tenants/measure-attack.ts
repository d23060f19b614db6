import { setTimeout as wait } from 'node:timers/promises';
import { watchOthers } from '../processes/watch-others';
import { percentile } from '../report/percentile';
import { firstArrivals } from '../traffic/latencies';
import { micros } from '../traffic/micros';
import type { Attack } from './attack';
import type { Answers } from './attacker';
import type { Asked, VictimRecord } from './victim';
import { inWorld, type World } from './world';

export interface MeasureOptions {
  readonly build: string;
  readonly quietSeconds: number;
  readonly attackSeconds: number;
}

/** What the other account notices, and what Redis holds. */
export interface Figures {
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

export interface AttackResult {
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
export async function measureAttack(attack: Attack, options: MeasureOptions): Promise<AttackResult> {
  return await inWorld(options.build, async (world) => {
    const { victim, attacker, receiver, service } = world;
    await beginVictim(world);
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

async function beginVictim({ service, receiver, victim }: World): Promise<void> {
  await service.createAccount(VICTIM);
  const id = await service.register(VICTIM, receiver.urlOf('ok', VICTIM), 'keyword.quick_win');
  const headers = { ...(await service.issueKey(VICTIM)), 'x-forwarded-for': '203.0.113.1' };
  await victim.begin({ url: service.url, headers, path: `/v1/webhooks/${id}`, perSecond: PER_SECOND });
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
