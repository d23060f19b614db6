// @ts-check
/**
 * `npm run capacity -- FILE`: what so many deliveries a day need, by the figures that `npm run bench -- scale --json FILE` has
 * measured. `--peak 3` says how many times the average the busiest hour is, `--busy 0.6` how busy a processor may be then,
 * `--attempts 1.05` how many attempts a delivery takes, `--answer 100` how many milliseconds receivers take to answer,
 * `--kept 14` for how many days deliveries are kept. docs/performance.md explains the formulas.
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
 * @typedef {{ workerMicros: number, redisMicros: number, redisBytes: number }} Costs in processor time of one delivery, and in
 *   memory for as long as it is kept
 * @typedef {{ peak: number, busy: number, attempts: number, answer: number, kept: number }} Assumptions
 */

/** @param {number} perDay @param {Costs} costs @param {Assumptions} assumed */
export function capacityOf(perDay, { workerMicros, redisMicros, redisBytes }, assumed) {
  const perSecond = (perDay / SECONDS_A_DAY) * assumed.peak * assumed.attempts;
  const workerCores = (perSecond * workerMicros) / 1e6 / assumed.busy;
  const redisCores = (perSecond * redisMicros) / 1e6 / assumed.busy;
  const underWay = (perSecond * assumed.answer) / 1_000;
  return {
    perDay,
    perSecond,
    /** A process has one core. */
    workers: Math.max(Math.ceil(workerCores), Math.ceil(underWay / WORKER_CONCURRENCY), 1),
    /** A Redis has one core, and a shard is on one. */
    redis: Math.max(Math.ceil(redisCores), 1),
    memoryGib: (perDay * assumed.kept * redisBytes) / 2 ** 30,
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

async function main() {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      peak: { type: 'string', default: '3' },
      busy: { type: 'string', default: '0.6' },
      attempts: { type: 'string', default: '1.05' },
      answer: { type: 'string', default: '100' },
      kept: { type: 'string', default: '14' },
    },
  });
  const [file] = positionals;
  if (file === undefined) throw new Problem('Say which figures: npm run capacity -- FILE');
  const figures = JSON.parse(await readFile(file, 'utf8'));
  const costs = figures.workers?.['1'];
  if (!costs)
    throw new Problem(`${file} has no figures of the scene "workers": npm run bench -- scale --json ${file}`);
  const assumed = /** @type {Assumptions} */ (
    Object.fromEntries(Object.entries(values).map(([name, text]) => [name, numberOf(name, text)]))
  );
  const rows = PER_DAY.map((perDay) => capacityOf(perDay, costs, assumed));
  process.stdout.write(
    '| Deliveries a day | attempts/s at the peak | workers (cores) | Redis masters and shards | Redis memory, GiB | connections to receivers | ports of one address |\n' +
      '| ---------------: | ---------------------: | --------------: | -----------------------: | ----------------: | -----------------------: | -------------------: |\n' +
      rows
        .map(
          ({ perDay, perSecond, workers, redis, memoryGib, sockets, portsShare }) =>
            `| ${perDay.toLocaleString('en')} | ${Math.round(perSecond)} | ${workers} | ${redis} | ${memoryGib.toFixed(1)} | ${sockets} | ${(100 * portsShare).toFixed(1)} % |\n`,
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
