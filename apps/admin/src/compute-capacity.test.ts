import { computeCapacity, type Figures, type Load, totalAt } from './compute-capacity';

const figures: Figures = {
  path: {
    date: '2026-01-01',
    deliveredPerSecond: 4_000,
    api: { at20: 1_000, at100: 500, saturated: 100 },
    worker: { at20: 2_000, at100: 1_000, saturated: 200 },
    redis: { at20: 600, at100: 500, saturated: 100 },
  },
  scale: { date: '2026-01-01', workerMicros: 300, redisMicros: 50 },
  history: {
    date: '2026-01-01',
    movingWorkerMicros: 40,
    movingRedisMicros: 30,
    movingPostgresMicros: 30,
    eventBytes: 400,
    deliveryBytes: 300,
    attemptBytes: 200,
    idBytes: 60,
  },
  aof: {
    date: '2026-01-01',
    writtenForEvent: 5_000,
    writtenForDelivery: 2_000,
    writtenForByte: 2,
    memoryOfEvent: 1_000,
    memoryOfDelivery: 400,
    memoryOfByte: 1,
    rewritten: 0.5,
    syncsOfEvent: 4,
    syncsOfDelivery: 2.5,
  },
};

/** 20 events a second on average, 100 at the peak. */
const load: Load = {
  events: 1_728_000,
  webhooks: 3,
  days: 30,
  hasHistory: true,
  payloadBytes: 152,
  peak: 5,
  attempts: 1,
  busy: 0.5,
  responseMs: 200,
  awayHours: 8,
  chosenIds: 0.5,
  retentionDays: 14,
};

it.each([
  ['below the lowest, at its cost', 10, 10 * 1_000],
  ['at a measured rate, as measured', 100, 100 * 500],
  // Half of the way from 50,000 at 100 a second to 400,000 at 4,000.
  ['between two, evenly', 2_050, 225_000],
  ['above the highest, at its cost', 8_000, 8_000 * 100],
])('takes rates %s', (_where, rate, total) => {
  expect(totalAt(rate, figures.path.api, figures.path.deliveredPerSecond)).toBeCloseTo(total, 6);
});

it('computes processors and processes', () => {
  const { atPeak, api, worker, redis } = computeCapacity(load, figures);
  expect(atPeak).toEqual({ events: 100, deliveries: 300, attempts: 300, underWay: 60 });
  // 100 × 500 µs.
  expect(api).toMatchObject({ cores: 0.05, replicas: 2 });
  // An event costs 5 times what it does at the top, and so does a further delivery: 100 × 1,000 + 200 × 300 × 5 + 300 × 40 µs.
  expect(worker.cores).toBeCloseTo(0.412, 9);
  expect(worker.replicas).toBe(2);
  // 100 × 500 + 200 × 50 × 5 + 300 × 30 µs.
  expect(redis.cores).toBeCloseTo(0.109, 9);
  expect(redis.masters).toBe(1);
});

it('computes the memory and the disk of Redis', () => {
  const { redis } = computeCapacity(load, figures);
  // 1,000 + 2 × 400 + 100 bytes more of payload.
  expect(redis.eventBytes).toBe(1_900);
  // 100 × 70 s, 20 × 8 h, and half of the events of 14 days × 60 bytes.
  expect(redis.kept).toEqual({ waiting: 13_300_000, away: 1_094_400_000, ids: 725_760_000 });
  expect(redis.needed).toBe(1_883_460_000);
  expect(redis.maxmemory).toBe(2_511_280_000);
  expect(redis.machine).toBe(5_022_560_000);
  // 5,000 + 2 × 2,000 + 100 × 2 bytes.
  expect(redis.writtenBytes).toBe(9_200);
  // 100 × 4 + 200 × 2.5.
  expect(redis.syncs).toBe(900);
  expect(redis.disk).toBe(3_766_920_000);
});

it('counts an event once for all of its deliveries on the disk of PostgreSQL', () => {
  const { postgres } = computeCapacity(load, figures);
  // 400 + 100 + 3 × (300 + 200) bytes; × 1,728,000 × 30; half as much again. Two APIs and two workers.
  expect(postgres).toMatchObject({
    eventBytes: 2_000,
    kept: 103_680_000_000,
    disk: 155_520_000_000,
    connections: 32,
    locks: 120,
  });
});

it('keeps all in Redis without a history', () => {
  const { redis, postgres } = computeCapacity({ ...load, hasHistory: false }, figures);
  expect(redis.kept).toEqual({ all: 1_728_000 * 30 * 1_900 });
  expect(postgres).toBeUndefined();
});

it('takes as many workers as slow receivers need', () => {
  // 300 attempts a second × 30 s are 9,000 under way, of 1,280 in a worker.
  expect(computeCapacity({ ...load, responseMs: 30_000 }, figures).worker.replicas).toBe(8);
});
