// @ts-check
/** What so many deliveries a day need, by what was measured. docs/performance.md explains the formulas. */
import { drawTable } from '../page-table.mjs';
import { Problem } from '../problem.mjs';

const PER_DAY = [1e6, 1e7, 1e8, 1e9];
const SECONDS_A_DAY = 86_400;
const WORKER_CONCURRENCY = 256 * 5;
// What Linux gives one address to reach one other: net.ipv4.ip_local_port_range.
const PORTS = 28_232;

/**
 * What is assumed where nothing else is said: how many webhooks get an event, how many times the average the busiest hour is, how busy
 * a processor may be then, how many attempts a delivery takes, how many milliseconds receivers take, for how many days deliveries are
 * kept. With a history: for how many seconds what is over stays in Redis, for how many days it is kept there, and which share of the
 * events has an id that a client chose.
 */
export const USUAL = {
  fanout: 1,
  peak: 3,
  busy: 0.6,
  attempts: 1.05,
  response: 100,
  kept: 14,
  lag: 70,
  history: 90,
  chosen: 0,
};

/**
 * @typedef {typeof USUAL} Assumptions
 * @typedef {{ apiMicros: number, workerMicros: number, redisMicros: number }} EventCosts in processor time: of taking it in, and of its
 *   first delivery
 * @typedef {{ workerMicros: number, redisMicros: number, redisBytes: number }} DeliveryCosts of one more delivery or attempt, and in
 *   memory for as long as it is kept
 * @typedef {{ workerMicros: number, redisMicros: number, postgresMicros: number, redisBytesClaim: number,
 *   diskBytes: Readonly<Record<string, number>> }} MoveCosts of moving a delivery with its event, and of keeping it
 */

/** @param {Readonly<Record<string, unknown>>} flags @returns {Assumptions} */
export function readAssumptions(flags) {
  const read = Object.entries(USUAL).map(([name, usual]) => {
    const value = Number(flags[name] ?? usual);
    if (name === 'chosen' ? value >= 0 && value <= 1 : value > 0) return [name, value];
    throw new Problem(`--${name} must be a number ${name === 'chosen' ? 'from 0 to 1' : 'above 0'}.`);
  });
  return Object.fromEntries(read);
}

/** @param {EventCosts} event @param {DeliveryCosts} delivery @param {Assumptions} assumed */
export function drawCapacity(event, delivery, assumed) {
  const rows = PER_DAY.map((perDay) => {
    const deliveries = (perDay / SECONDS_A_DAY) * assumed.peak;
    const events = deliveries / assumed.fanout;
    const perSecond = deliveries * assumed.attempts;
    /** @param {number} ofEvent @param {number} ofFurther both in microseconds */
    const coresFor = (ofEvent, ofFurther) =>
      Math.max(Math.ceil((events * ofEvent + (perSecond - events) * ofFurther) / 1e6 / assumed.busy), 1);
    const underWay = (perSecond * assumed.response) / 1_000;
    return [
      perDay.toLocaleString('en'),
      String(Math.round(perSecond)),
      // A process has one core, a Redis too, and a shard is on one.
      String(coresFor(event.apiMicros, 0)),
      String(
        Math.max(
          coresFor(event.workerMicros, delivery.workerMicros),
          Math.ceil(underWay / WORKER_CONCURRENCY),
        ),
      ),
      String(coresFor(event.redisMicros, delivery.redisMicros)),
      ((perDay * assumed.kept * delivery.redisBytes) / 2 ** 30).toFixed(1),
      // Of all workers together; and their share of the ports, if all went to one receiver.
      String(Math.ceil(underWay)),
      `${((100 * underWay) / PORTS).toFixed(1)} %`,
    ];
  });
  const cores = ['APIs (cores)', 'workers (cores)', 'Redis masters, shards', 'Redis memory, GiB'];
  const head = ['Deliveries a day', 'attempts/s at peak', ...cores, 'connections out', 'ports of an address'];
  return drawTable([head, ...rows], 'figures');
}

/** @param {DeliveryCosts} delivery @param {MoveCosts} move @param {Assumptions} assumed */
export function drawHistory(delivery, move, assumed) {
  const diskBytes = Object.values(move.diskBytes).reduce((sum, each) => sum + each, 0);
  const rows = PER_DAY.map((perDay) => {
    const perSecond = (perDay / SECONDS_A_DAY) * assumed.peak;
    const waiting = perSecond * assumed.lag * delivery.redisBytes;
    const claims = (perDay / assumed.fanout) * assumed.chosen * assumed.kept * move.redisBytesClaim;
    const cores = [move.workerMicros, move.redisMicros, move.postgresMicros].map((micros) =>
      String(Math.max(Math.ceil((perSecond * micros) / 1e6 / assumed.busy), 1)),
    );
    const diskGib = (perDay * assumed.history * diskBytes) / 2 ** 30;
    return [
      perDay.toLocaleString('en'),
      ((waiting + claims) / 2 ** 30).toFixed(3),
      ...cores,
      Math.round(diskGib).toLocaleString('en'),
    ];
  });
  const head = [
    'Deliveries a day',
    'Redis memory, GiB',
    'moving: workers (cores)',
    'Redis (cores)',
    'PostgreSQL (cores)',
  ];
  return drawTable([[...head, 'disk of PostgreSQL, GiB'], ...rows], 'figures');
}
