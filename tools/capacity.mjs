// @ts-check
/**
 * `npm run capacity -- PATH SCALE [HISTORY]`: what so many deliveries a day need, by the figures that `npm run bench -- path
 * --json PATH` has measured of an event from HTTP to its receiver, `npm run bench -- scale --json SCALE` of each further delivery,
 * and `npm run bench -- history --json HISTORY` of moving one to the history.
 * `--fanout 1` says how many webhooks get an event, `--peak 3` how many times the average the busiest hour is, `--busy 0.6` how
 * busy a processor may be then, `--attempts 1.05` how many attempts a delivery takes, `--answer 100` how many milliseconds
 * receivers take to answer, `--kept 14` for how many days deliveries are kept. docs/performance.md explains the formulas.
 *
 * With a history, `--lag 70` says for how many seconds what has ended stays in Redis, `--history 90` for how many days it is kept
 * there, and `--chosen 0` which share of the events has an id that a client chose.
 */
import { readFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { describeError, Problem } from './problem.mjs';
import { say } from './say.mjs';

const PER_DAY = [1e6, 1e7, 1e8, 1e9];
const SECONDS_A_DAY = 86_400;
const WORKER_CONCURRENCY = 256 * 5;
// What Linux gives one address to reach one other: net.ipv4.ip_local_port_range.
const PORTS = 28_232;

/**
 * @typedef {{ apiMicros: number, workerMicros: number, redisMicros: number }} EventCosts in processor time: of taking it in,
 *   and of its first delivery
 * @typedef {{ workerMicros: number, redisMicros: number, redisBytes: number }} DeliveryCosts in processor time of one more
 *   delivery or attempt, and in memory for as long as it is kept
 * @typedef {{ event: EventCosts, delivery: DeliveryCosts }} Costs
 * @typedef {{ workerMicros: number, redisMicros: number, postgresMicros: number, redisBytesClaim: number,
 *   diskBytes: Readonly<Record<string, number>> }} MoveCosts of moving a delivery with its event, and of keeping it
 * @typedef {{ fanout: number, peak: number, busy: number, attempts: number, answer: number, kept: number, lag: number,
 *   history: number, chosen: number }} Assumptions
 */

/** What is assumed where nothing else is said. @type {Assumptions} */
export const USUAL = {
  fanout: 1,
  peak: 3,
  busy: 0.6,
  attempts: 1.05,
  answer: 100,
  kept: 14,
  lag: 70,
  history: 90,
  chosen: 0,
};

/** @param {number} perDay @param {Costs} costs @param {Assumptions} assumed */
function capacityOf(perDay, { event, delivery }, assumed) {
  const deliveries = (perDay / SECONDS_A_DAY) * assumed.peak;
  const events = deliveries / assumed.fanout;
  const perSecond = deliveries * assumed.attempts;
  const further = perSecond - events;
  /** @param {number} ofEvent @param {number} ofFurther both in microseconds */
  const coresFor = (ofEvent, ofFurther) => (events * ofEvent + further * ofFurther) / 1e6 / assumed.busy;
  const workerCores = coresFor(event.workerMicros, delivery.workerMicros);
  const underWay = (perSecond * assumed.answer) / 1_000;
  return {
    perDay,
    perSecond,
    /** A process has one core. */
    apis: Math.max(Math.ceil(coresFor(event.apiMicros, 0)), 1),
    workers: Math.max(Math.ceil(workerCores), Math.ceil(underWay / WORKER_CONCURRENCY), 1),
    /** A Redis has one core, and a shard is on one. */
    redis: Math.max(Math.ceil(coresFor(event.redisMicros, delivery.redisMicros)), 1),
    memoryGib: (perDay * assumed.kept * delivery.redisBytes) / 2 ** 30,
    /** Connections to receivers, of all workers together. */
    sockets: Math.ceil(underWay),
    /** Of the ports that one address has to reach one receiver, if all went to that one. */
    portsShare: underWay / PORTS,
  };
}

/** @param {number} perDay @param {Costs} costs @param {MoveCosts} move @param {Assumptions} assumed */
function historyOf(perDay, { delivery }, move, assumed) {
  const perSecond = (perDay / SECONDS_A_DAY) * assumed.peak;
  /** @param {number} micros */
  const coresFor = (micros) => Math.max(Math.ceil((perSecond * micros) / 1e6 / assumed.busy), 1);
  const waiting = perSecond * assumed.lag * delivery.redisBytes;
  const claims = (perDay / assumed.fanout) * assumed.chosen * assumed.kept * move.redisBytesClaim;
  const diskBytes = Object.values(move.diskBytes).reduce((sum, each) => sum + each, 0);
  return {
    perDay,
    /** What has ended and has not moved; beside it only ids that clients chose. */
    memoryGib: (waiting + claims) / 2 ** 30,
    workers: coresFor(move.workerMicros),
    redis: coresFor(move.redisMicros),
    postgres: coresFor(move.postgresMicros),
    diskGib: (perDay * assumed.history * diskBytes) / 2 ** 30,
  };
}

/**
 * What many deliveries a day need by these costs, as a table in Markdown.
 *
 * @param {Costs} costs
 * @param {Assumptions} assumed
 */
export function drawCapacity(costs, assumed) {
  const head =
    '| Deliveries a day | attempts/s at the peak | APIs (cores) | workers (cores) | Redis masters and shards | Redis memory, GiB | connections to receivers | ports of one address |\n' +
    '| ---------------: | ---------------------: | -----------: | --------------: | -----------------------: | ----------------: | -----------------------: | -------------------: |\n';
  const rows = PER_DAY.map((perDay) => capacityOf(perDay, costs, assumed)).map(
    ({ perDay, perSecond, apis, workers, redis, memoryGib, sockets, portsShare }) =>
      `| ${perDay.toLocaleString('en')} | ${Math.round(perSecond)} | ${apis} | ${workers} | ${redis} | ${memoryGib.toFixed(1)} | ${sockets} | ${(100 * portsShare).toFixed(1)} % |\n`,
  );
  return head + rows.join('');
}

/** @param {string} name @param {string} text */
function numberOf(name, text) {
  const value = Number(text);
  const isFine = name === 'chosen' ? value >= 0 && value <= 1 : value > 0;
  if (!isFine)
    throw new Problem(`--${name} must be a number ${name === 'chosen' ? 'from 0 to 1' : 'above 0'}.`);
  return value;
}

/** @param {string} file */
async function readFigures(file) {
  return JSON.parse(await readFile(file, 'utf8'));
}

/**
 * The medians that the benchmark has printed.
 *
 * @param {readonly { name: string, service: number }[]} ratios
 * @returns {EventCosts | undefined}
 */
function eventCostsIn(ratios) {
  /** @param {string} part */
  const of = (part) => ratios.find(({ name }) => name === `saturated: CPU per event, ${part}, µs`)?.service;
  const [apiMicros, workerMicros, redisMicros] = [of('API'), of('worker'), of('Redis')];
  if (apiMicros === undefined || workerMicros === undefined || redisMicros === undefined) return undefined;
  return { apiMicros, workerMicros, redisMicros };
}

async function main() {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      ...Object.fromEntries(
        Object.entries(USUAL).map(([name, value]) => [
          name,
          { type: /** @type {const} */ ('string'), default: String(value) },
        ]),
      ),
    },
  });
  const [path, scale, history] = positionals;
  if (path === undefined || scale === undefined)
    throw new Problem('Name the files with figures: npm run capacity -- PATH SCALE [HISTORY]');
  const event = eventCostsIn((await readFigures(path)).ratios ?? []);
  if (!event)
    throw new Problem(
      `${path} has no figures of the benchmark "path". Measure them: npm run bench -- path --json ${path}`,
    );
  const delivery = (await readFigures(scale)).workers?.['1'];
  if (!delivery)
    throw new Problem(
      `${scale} has no figures of the scene "workers". Measure them: npm run bench -- scale --json ${scale}`,
    );
  const assumed = /** @type {Assumptions} */ (
    Object.fromEntries(Object.entries(values).map(([name, text]) => [name, numberOf(name, text)]))
  );
  process.stdout.write(drawCapacity({ event, delivery }, assumed));
  if (history === undefined) return;
  const move = /** @type {MoveCosts | undefined} */ ((await readFigures(history)).history);
  if (!move)
    throw new Problem(
      `${history} has no figures of the history. Measure them: npm run bench -- history --json ${history}`,
    );
  const moved = PER_DAY.map((perDay) => historyOf(perDay, { event, delivery }, move, assumed));
  process.stdout.write(
    '\n| Deliveries a day | Redis memory, GiB | moving: workers (cores) | Redis (cores) | PostgreSQL (cores) | disk of PostgreSQL, GiB |\n' +
      '| ---------------: | ----------------: | ----------------------: | ------------: | -----------------: | ----------------------: |\n' +
      moved
        .map(
          ({ perDay, memoryGib, workers, redis, postgres, diskGib }) =>
            `| ${perDay.toLocaleString('en')} | ${memoryGib.toFixed(3)} | ${workers} | ${redis} | ${postgres} | ${Math.round(diskGib).toLocaleString('en')} |\n`,
        )
        .join(''),
  );
}

if (process.argv[1] === import.meta.filename) {
  try {
    await main();
  } catch (error) {
    say('capacity', describeError(error));
    process.exitCode = 1;
  }
}
