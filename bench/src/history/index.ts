import { ROLLUPS } from '@hookferry/core/history/database/pg-days';
import { PACKED_AFTER_MS, packDays } from '@hookferry/core/history/database/pg-pack-days';
import { hasPostgres, NO_POSTGRES } from '@hookferry/core/testing/postgres-server';
import type { SuiteOptions } from '../options';
import { POSTGRES_SETTINGS, startPostgres } from '../processes/measured-postgres';
import { percentile, printTable, writeJson } from '../report';
import { EVENT_TYPE } from '../traffic/events';
import { measurePathBesideMover, type PathBesideMover } from './beside-path';
import { copyDays, copySums, sizesOf } from './copy-days';
import { loadHistory } from './load-history';
import { FAILED_TYPE, type MoveFigures, measureClaims, moveMany } from './move-all';
import { metricsRoutes, pageRoutes, type RouteTimes, searchRoutes, timeRoutes } from './pages';
import { measureReplay, type ReplayFigures } from './replay';
import { ACCOUNT, inHistory, inStage, say, type WithHistory } from './stage';

const A_DAY = 1_000_000;
const SHORT = 100_000;
const SHORTEST = 5_000;
const FAILING_SHARE = 50;
const MOST_REPLAYED = 100_000;
const CLAIMS_SHARE = 20;
// There is a part of a bucket for each: few take more.
const LEAST_CLAIMS = 20_000;
const MB = 1_000_000;

/** What the history costs, beside each of its aims. */
export async function runHistorySuite(options: SuiteOptions): Promise<void> {
  if (!hasPostgres) {
    process.stderr.write(`SKIPPED: what the history costs, because ${NO_POSTGRES}.\n`);
    return;
  }
  const { build, short, scene } = options;
  const deliveries = options.deliveries ?? (short ? SHORTEST : SHORT);
  const moved = Math.min(deliveries, A_DAY);
  const days = Math.max(Math.ceil(deliveries / moved) - 1, 0);
  const replayed = Math.min(MOST_REPLAYED, Math.floor(moved / 2));
  const requests = options.rounds ?? (short ? 20 : 300);
  say(`PostgreSQL with ${POSTGRES_SETTINGS.join(', ')}; synchronous_commit is on`);
  const has = (part: 'pages' | 'replay' | 'path') => scene === undefined || scene === part;
  const postgres = await startPostgres();
  try {
    const history = await inHistory(build, postgres, async (stage) => ({
      ...(await fill(stage, moved, has('pages') ? days : 0)),
      times: has('pages') ? await readAll(stage, moved, days, requests) : undefined,
      replay: has('replay') ? await measureReplay(stage, moved, replayed) : undefined,
    }));
    const today = has('replay') ? await replayToday(build, replayed) : undefined;
    const path = has('path')
      ? await measurePathBesideMover(build, postgres, short ? 1_000 : 10_000, short ? 1 : 3)
      : undefined;
    print({ ...history, today, path, replayed }, requests);
    await writeJson(options.json, jsonOf(history));
  } finally {
    await postgres.close();
  }
}

interface MovedFigures {
  readonly deliveries: number;
  readonly days: number;
  readonly move: MoveFigures;
  readonly claimBytes: number;
  /** Bytes on disk for each event, by table. */
  readonly disk: ReadonlyMap<string, number>;
}

type Times = Readonly<Record<'Pages of 50' | 'Search' | 'Metrics', readonly RouteTimes[]>>;

/** What was not asked for is undefined. */
interface Figures extends MovedFigures {
  readonly times: Times | undefined;
  readonly replay: ReplayFigures | undefined;
  /** The same replay without a history. */
  readonly today: ReplayFigures | undefined;
  readonly replayed: number;
  readonly path: PathBesideMover | undefined;
}

/** A day by movers, and so many days before it by SQL. */
async function fill(stage: WithHistory, moved: number, days: number): Promise<MovedFigures> {
  say(`loading ${moved} into Redis, and moving them`);
  const move = await moveMany(stage, moved, EVENT_TYPE);
  say(`${move.perSecond.toFixed(0)} moved in a second`);
  say(`copying ${days} days`);
  await copyDays(stage, days, false);
  await stage.postgres.query('VACUUM (ANALYZE)');
  // As workers do, some time after a day is over.
  await packDays(stage.database, Date.now() + PACKED_AFTER_MS);
  const deliveries = moved * (days + 1);
  const sizes = await sizesOf(stage);
  const disk = new Map([...sizes].map(([table, bytes]) => [table, bytes / deliveries]));
  const claims = Math.max(Math.ceil(moved / CLAIMS_SHARE), LEAST_CLAIMS);
  return { deliveries, days: days + 1, move, claimBytes: await measureClaims(stage, claims), disk };
}

/** Pages, search and metrics, once some have failed on each day. */
async function readAll(stage: WithHistory, moved: number, days: number, requests: number): Promise<Times> {
  await moveMany(stage, Math.ceil(moved / FAILING_SHARE), FAILED_TYPE);
  await copyDays(stage, days, true);
  await copySums(stage, days);
  await stage.postgres.query('VACUUM (ANALYZE)');
  await stage.postgres.query('CHECKPOINT');
  const asker = stage.service.targetOf(ACCOUNT);
  return {
    'Pages of 50': await timeRoutes(asker, await pageRoutes(stage, asker), requests),
    Search: await timeRoutes(asker, searchRoutes(moved, days), requests),
    Metrics: await timeRoutes(asker, metricsRoutes(), requests),
  };
}

/** The same replay with everything in Redis. */
async function replayToday(build: string, replayed: number): Promise<ReplayFigures> {
  return await inStage(build, {}, async (stage) => {
    await loadHistory(stage, { deliveries: replayed });
    return await measureReplay(stage, replayed, replayed);
  });
}

function print(all: Figures, requests: number): void {
  const { deliveries, days, move } = all;
  printTable(
    `What the history costs: ${deliveries} deliveries of ${days} days on record, ${move.moved} of them moved by one worker while others took ${move.coresOfOthers.toFixed(1)} cores`,
    [
      ['', 'aim', 'measured', 'met'],
      ...movingRows(all),
      ...readingRows(all),
      ...replayRows(all),
      ...pathRows(all),
    ],
  );
  for (const [title, times] of Object.entries(all.times ?? {})) {
    printTable(`${title}, ${requests} requests each, ms`, [
      ['', 'p50', 'p99'],
      ...times.map(({ label, durations }) => [label, ...bothOf(durations).map((ms) => ms.toFixed(1))]),
    ]);
  }
}

/** What it is, its aim, what was measured, and whether it is met. */
type AimRow = readonly [name: string, aim: string, text: string, met: string];

function movingRows({ move, claimBytes, disk }: Figures): readonly AimRow[] {
  const micros = move.workerMicros + move.redisMicros + move.postgresMicros;
  const bytes = [...disk].reduce((sum, [table, each]) => sum + (table === ROLLUPS ? 0 : each), 0);
  return [
    atMost(`Redis after ${move.moved} have moved, against before, MB`, move.redisGrowth / MB, 50, 1),
    atMost('Redis for an id that a client chose, bytes', claimBytes, 120),
    atMost('disk for each, indexes included, bytes', bytes, 1_000),
    ...[...disk].map(([table, each]) => plain(`… ${table}`, each)),
    atMost('processor time of moving one, µs', micros, 120),
    plain('… worker', move.workerMicros),
    plain('… Redis', move.redisMicros),
    plain('… PostgreSQL', move.postgresMicros),
    atLeast('moved in a second by one worker', move.perSecond, 5_000),
  ];
}

function readingRows({ times }: Figures): readonly AimRow[] {
  if (!times) return [];
  const [p50, p99] = worstOf(times['Pages of 50']);
  return [
    atMost('pages of 50, the slowest filter: p50, ms', p50, 15, 1),
    atMost('pages of 50, the slowest filter: p99, ms', p99, 50, 1),
    atMost('search by data, the slowest: p99, ms', worstOf(times.Search)[1], 100, 1),
    atMost('metrics, the slowest: p99, ms', worstOf(times.Metrics)[1], 200, 1),
  ];
}

function replayRows({ replay, today, replayed }: Figures): readonly AimRow[] {
  if (!replay || !today) return [];
  return [
    atMost(`replay of ${replayed}: begins after, ms`, replay.beginsAfterMs, 1_000),
    plain('… without a history, ms', today.beginsAfterMs),
    plain('… deliveries a second', replay.perSecond),
    plain('… without a history', today.perSecond),
    atLeast('… ratio', replay.perSecond / today.perSecond, 0.9, 2),
  ];
}

function pathRows({ path, move }: Figures): readonly AimRow[] {
  if (!path) return [];
  const { without, waiting, moving } = path;
  const withoutMoving = moving.micros - move.workerMicros - move.redisMicros;
  return [
    plain('path, saturated: CPU per event without a history, µs', without.micros),
    plain('… with one, nothing moves', waiting.micros),
    plain('… everything moves', moving.micros),
    atMost('… nothing moves, ratio', waiting.micros / without.micros, 1.1, 2),
    atMost('… everything moves, less what moving takes, ratio', withoutMoving / without.micros, 1.1, 2),
    plain('path, 100/s: p99 without a history, ms', without.p99, 1),
    plain('… everything moves', moving.p99, 1),
    atMost('… ratio', moving.p99 / without.p99, 1.1, 2),
  ];
}

function plain(name: string, value: number, digits = 0): AimRow {
  return [name, '', value.toFixed(digits), ''];
}

function atMost(name: string, value: number, bound: number, digits = 0): AimRow {
  return [name, `≤ ${bound}`, value.toFixed(digits), value <= bound ? 'yes' : 'no'];
}

function atLeast(name: string, value: number, bound: number, digits = 0): AimRow {
  return [name, `≥ ${bound}`, value.toFixed(digits), value >= bound ? 'yes' : 'no'];
}

function bothOf(durations: readonly number[]): readonly [p50: number, p99: number] {
  return [percentile(durations, 0.5), percentile(durations, 0.99)];
}

function worstOf(times: readonly RouteTimes[]): readonly [p50: number, p99: number] {
  const all = times.map(({ durations }) => bothOf(durations));
  return [Math.max(...all.map(([p50]) => p50)), Math.max(...all.map(([, p99]) => p99))];
}

/** What `hookferry-admin capacity` computes with. */
function jsonOf({ move, claimBytes, disk }: MovedFigures) {
  const { workerMicros, redisMicros, postgresMicros, perSecond, redisGrowth, moved } = move;
  return {
    history: {
      ...{ workerMicros, redisMicros, postgresMicros },
      movedPerSecond: perSecond,
      redisBytesMoved: redisGrowth / moved,
      redisBytesClaim: claimBytes,
      diskBytes: Object.fromEntries(disk),
    },
  };
}
