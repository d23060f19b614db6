// @ts-check
/**
 * `npm run capacity -- PATH SCALE`: what so many deliveries a day need, by the figures that `npm run bench -- path --json PATH`
 * has measured of an event from HTTP to its receiver, and `npm run bench -- scale --json SCALE` of each further delivery.
 * `--fanout 1` says how many webhooks get an event, `--peak 3` how many times the average the busiest hour is, `--busy 0.6` how
 * busy a processor may be then, `--attempts 1.05` how many attempts a delivery takes, `--answer 100` how many milliseconds
 * receivers take to answer, `--kept 14` for how many days deliveries are kept. docs/performance.md explains the formulas.
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
 * @typedef {{ fanout: number, peak: number, busy: number, attempts: number, answer: number, kept: number }} Assumptions
 */

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

/** @param {string} name @param {string} text */
function numberOf(name, text) {
  const value = Number(text);
  if (!(value > 0)) throw new Problem(`--${name} must be a number above 0.`);
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
      fanout: { type: 'string', default: '1' },
      peak: { type: 'string', default: '3' },
      busy: { type: 'string', default: '0.6' },
      attempts: { type: 'string', default: '1.05' },
      answer: { type: 'string', default: '100' },
      kept: { type: 'string', default: '14' },
    },
  });
  const [path, scale] = positionals;
  if (path === undefined || scale === undefined)
    throw new Problem('Say which figures: npm run capacity -- PATH SCALE');
  const event = eventCostsIn((await readFigures(path)).ratios ?? []);
  if (!event) throw new Problem(`${path} has no figures of the path: npm run bench -- path --json ${path}`);
  const delivery = (await readFigures(scale)).workers?.['1'];
  if (!delivery)
    throw new Problem(
      `${scale} has no figures of the scene "workers": npm run bench -- scale --json ${scale}`,
    );
  const assumed = /** @type {Assumptions} */ (
    Object.fromEntries(Object.entries(values).map(([name, text]) => [name, numberOf(name, text)]))
  );
  const rows = PER_DAY.map((perDay) => capacityOf(perDay, { event, delivery }, assumed));
  process.stdout.write(
    '| Deliveries a day | attempts/s at the peak | APIs (cores) | workers (cores) | Redis masters and shards | Redis memory, GiB | connections to receivers | ports of one address |\n' +
      '| ---------------: | ---------------------: | -----------: | --------------: | -----------------------: | ----------------: | -----------------------: | -------------------: |\n' +
      rows
        .map(
          ({ perDay, perSecond, apis, workers, redis, memoryGib, sockets, portsShare }) =>
            `| ${perDay.toLocaleString('en')} | ${Math.round(perSecond)} | ${apis} | ${workers} | ${redis} | ${memoryGib.toFixed(1)} | ${sockets} | ${(100 * portsShare).toFixed(1)} % |\n`,
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
