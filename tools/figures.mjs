// @ts-check
/**
 * `npm run figures`: what was measured, in `docs/figures.json`, and every page that quotes it.
 *
 * - `npm run figures -- path=path.json drain=drain.json` takes in what `npm run bench -- path --json path.json` has written, and
 *   brings the pages up to date. `--commit` and `--date` say of which version and day the files are: otherwise HEAD and today.
 * - `npm run figures` alone brings the pages up to date, `npm run figures -- --check` says which are not, and exits with 1.
 * - `npm run figures -- --age 100` lists what was measured more than 100 commits ago, of those that changed what it measures.
 *
 * The figures that `hookferry-admin capacity` computes with are shipped with it, in `apps/admin/src/capacity-figures.json`. It is brought
 * up to date, and so is what it says on the page about performance.
 *
 * A page quotes a figure as `<!-- figure: path.saturated-cpu-per-event-api -->177 µs<!-- / -->`. What follows its name is `.ratio`,
 * its ratio to what it is compared with, `.pair`, that one's figure, `.a-second`, how often one core does it in a second, or `.date`, the
 * day on which it was measured.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { drawTable, withTable } from './page-table.mjs';
import { describeError, Problem } from './problem.mjs';
import { projectFolder } from './project-folders.mjs';
import { say } from './say.mjs';

const MARKED = /<!-- figure: ([\w-]+)\.([\w-]+)(?:\.([\w-]+))? -->([^<]*)<!-- \/ -->/g;
const COMMAND = 'npm run figures';
/** What the calculator ships with: in its sources, and in its build. */
const SHIPPED = ['apps/admin/src/capacity-figures.json', 'apps/admin/dist/capacity-figures.json'];
const EXAMPLE = ['--events', '5M', '--webhooks', '3', '--days', '30', '--payload', '1KiB'];
const PER_DAY = [1e6, 1e7, 1e8, 1e9];

/**
 * @typedef {{ name: string, value: number, unit?: string, pair?: number, ratio?: number | null, aim?: string | null, met?: boolean | null }}
 *   Figure `name` is that of its row; `pair` is the same of what it is compared with
 * @typedef {{ command: string, date: string, machine: string, commit: string, paths: readonly string[], pair?: string, own?: string,
 *   figures: Record<string, Figure> }} Measurement `paths` are what it measures; `pair` names what it is compared with, `own` what is compared
 * @typedef {{ name: string, plain: number, service: number, value: number, aim: string | null, met: boolean | null }} Row of a
 *   benchmark's JSON
 */

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    check: { type: 'boolean', default: false },
    age: { type: 'string' },
    commit: { type: 'string' },
    date: { type: 'string' },
    root: { type: 'string', default: projectFolder },
  },
});
const file = join(options.root, 'docs/figures.json');

try {
  /** @type {Record<string, Measurement>} */
  const measurements = readJson(file);
  if (options.age !== undefined) listOld(measurements, Number(options.age));
  else bringAllUpToDate(measurements);
} catch (error) {
  say('figures', describeError(error));
  process.exitCode = 1;
}

/** @param {Record<string, Measurement>} measurements */
function bringAllUpToDate(measurements) {
  for (const each of positionals) takeIn(measurements, each);
  if (positionals.length > 0) writeFileSync(file, `${JSON.stringify(measurements, undefined, 2)}\n`);
  const names = readdirSync(join(options.root, 'docs'), { recursive: true, encoding: 'utf8' });
  const pages = [
    'README.md',
    'site/home.md',
    ...names.filter((name) => name.endsWith('.md')).map((name) => `docs/${name}`),
  ];
  const wrong = [
    ...shipForCapacity(measurements),
    ...pages.flatMap((page) => bringUpToDate(page, measurements)),
  ];
  for (const text of wrong) say('figures', text);
  if (options.check && wrong.length > 0) process.exitCode = 1;
}

/** @param {Record<string, Measurement>} measurements @param {string} argument such as `path=path.json` */
function takeIn(measurements, argument) {
  const [name = '', path = ''] = argument.split('=');
  const measurement = measurements[name];
  if (measurement === undefined) {
    throw new Problem(
      `Name the measurement in the file: one of ${Object.keys(measurements).join(', ')}, as in path=path.json`,
    );
  }
  /** @type {{ ratios?: readonly Row[] }} */
  const { ratios } = readJson(path);
  if (ratios === undefined)
    throw new Problem(`${path} has no "ratios", as benchmarks write them with --json.`);
  measurement.date = options.date ?? new Date().toISOString().slice(0, 10);
  measurement.commit = options.commit ?? git('rev-parse', 'HEAD');
  measurement.figures = Object.fromEntries(ratios.map((row) => [idOf(row.name), figureOf(row)]));
}

/** @param {Row} row @returns {Figure} */
function figureOf({ name, plain, service, value, aim: bound, met }) {
  const unit = /, (µs|ms|MB|bytes)$/.exec(name)?.[1];
  // The share of a processor that others took is of neither, and nothing is a multiple of none.
  const isComparable = plain > 0 && !name.includes('taken by others');
  const ratio = isComparable ? Number((service / plain).toFixed(2)) : null;
  const aim = bound !== null && value === service ? `${bound}, of its own` : bound;
  return { name, value: rounded(service), ...(unit && { unit }), pair: rounded(plain), ratio, aim, met };
}

/** @param {string} name of a row */
function idOf(name) {
  const plain = name.replace(/, (µs|ms|MB|bytes)( a second)?$/, '').toLowerCase();
  return plain.replace(/(\d+)\/s/, 'at-$1').replace(/[^a-z0-9]+/g, '-');
}

/** @param {number} value */
function rounded(value) {
  // Not -0, which JSON has no word for.
  const size = Math.abs(value);
  return Number(value.toFixed(size >= 100 ? 0 : size >= 1 ? 1 : 2)) + 0;
}

/** @param {number | undefined} value */
function textOf(value) {
  return value?.toLocaleString('en-US', { maximumFractionDigits: 20 }) ?? '';
}

/** Brings a page up to date, unless that is only checked. @param {string} page @param {Record<string, Measurement>} measurements */
function bringUpToDate(page, measurements) {
  const path = join(options.root, page);
  const text = readFileSync(path, 'utf8');
  /** @type {string[]} */
  const wrong = [];
  let written = text.replace(MARKED, (marked, of, id, kind, former) => {
    const is = quote(measurements[of], id, kind);
    if (is === undefined)
      throw new Problem(`${page}: there is no figure ${of}.${id}${kind ? `.${kind}` : ''}`);
    if (is !== former) wrong.push(`${page}: ${of}.${id} is ${is}, not ${former}`);
    return marked.replace(`>${former}<`, `>${is}<`);
  });
  const tables = Object.entries(measurements).map(([name, measurement]) => [
    `figures of ${name}`,
    () => describe(measurement),
  ]);
  for (const [name, draw] of /** @type {[string, () => string][]} */ ([
    ...tables,
    ['capacity of some', capacityOfSome],
    ['capacity of one', capacityOfOne],
  ])) {
    if (!written.includes(`<!-- ${name}:`)) continue;
    const before = written;
    written = withTable(written, name, COMMAND, draw());
    if (written !== before) wrong.push(`${page}: the table "${name}" is outdated. Update it: ${COMMAND}`);
  }
  if (!options.check && written !== text) writeFileSync(path, written);
  return wrong;
}

/** @param {Measurement | undefined} measurement @param {string} id @param {string | undefined} kind */
function quote(measurement, id, kind) {
  const figure = measurement?.figures[id];
  if (measurement === undefined || figure === undefined) return undefined;
  const { value, unit, pair, ratio } = figure;
  switch (kind) {
    case undefined:
      return [textOf(value), unit].filter(Boolean).join(' ');
    case 'pair':
      return [textOf(pair), unit].filter(Boolean).join(' ');
    case 'ratio':
      return ratio?.toFixed(2);
    case 'a-second':
      return textOf(Number((1e6 / value).toPrecision(2)));
    case 'date':
      return new Date(measurement.date).toLocaleDateString('en-GB', { dateStyle: 'long', timeZone: 'UTC' });
    default:
      return undefined;
  }
}

/** When, where and of which version it was measured, and the table. @param {Measurement} measurement */
function describe({ command, date, machine, commit, pair, own = 'Hookferry', figures }) {
  const rows = Object.values(figures).map(({ name, value, pair: other, ratio, aim, met }) => [
    name,
    textOf(other),
    textOf(value),
    ratio?.toFixed(2) ?? '',
    aim ?? '',
    met === true ? 'yes' : met === false ? 'no' : '',
  ]);
  const table = drawTable([['', pair ?? '', own, 'ratio', 'aim', 'met'], ...rows], 'figures');
  return `${date}, at commit \`${commit.slice(0, 8)}\`, by \`${command}\`, on ${machine}:\n\n${table}`;
}

/** @param {Record<string, Measurement>} measurements */
function shipForCapacity({ path, scale, history, aof }) {
  /** @param {Measurement | undefined} measurement @param {string} id */
  const of = (measurement, id) => {
    const figure = measurement?.figures[id];
    if (figure) return figure.value;
    throw new Problem(`docs/figures.json has no ${id}, which the capacity is computed from.`);
  };
  /** @param {Measurement | undefined} measurement @param {string} id */
  const rated = (measurement, id) => ({
    at20: of(measurement, `at-20-${id}`),
    at100: of(measurement, `at-100-${id}`),
    saturated: of(measurement, `saturated-${id}`),
  });
  const shipped = {
    path: {
      date: path?.date,
      deliveredPerSecond: of(path, 'saturated-delivered-per-second'),
      api: rated(path, 'cpu-per-event-api'),
      worker: rated(path, 'cpu-per-event-worker'),
      redis: rated(path, 'cpu-per-event-redis'),
    },
    scale: { date: scale?.date, workerMicros: of(scale, 'worker-cpu'), redisMicros: of(scale, 'redis-cpu') },
    history: {
      date: history?.date,
      movingWorkerMicros: of(history, 'moving-worker'),
      movingRedisMicros: of(history, 'moving-redis'),
      movingPostgresMicros: of(history, 'moving-postgresql'),
      eventBytes: of(history, 'events'),
      deliveryBytes: of(history, 'deliveries'),
      attemptBytes: of(history, 'attempts'),
      idBytes: of(history, 'chosen-id'),
    },
    aof: {
      date: aof?.date,
      writtenForEvent: of(aof, 'written-for-an-event-with-one-delivery'),
      writtenForDelivery: of(aof, 'written-for-each-further-delivery'),
      writtenForByte: of(aof, 'written-for-each-byte-of-payload'),
      memoryOfEvent: of(aof, 'memory-of-an-event-with-one-delivery'),
      memoryOfDelivery: of(aof, 'memory-of-each-further-delivery'),
      memoryOfByte: of(aof, 'memory-of-each-byte-of-payload'),
      rewritten: of(aof, 'rewritten-file-for-each-byte-of-memory'),
      syncsOfEvent: of(aof, 'syncs-of-an-event-with-one-delivery-alone'),
      syncsOfDelivery: of(aof, 'syncs-of-each-further-delivery'),
    },
  };
  const text = `${JSON.stringify(shipped, undefined, 2)}\n`;
  return SHIPPED.flatMap((name) => {
    const target = join(options.root, name);
    if (existsSync(target) && readFileSync(target, 'utf8') === text) return [];
    if (!options.check) {
      mkdirSync(dirname(target), { recursive: true });
      writeFileSync(target, text);
    }
    return name === SHIPPED[0] ? [`${name} is outdated. Update it: ${COMMAND}`] : [];
  });
}

/** What the calculator says of the example on the page. */
function capacityOfOne() {
  return `\`\`\`text\n$ hookferry-admin capacity ${EXAMPLE.join(' ')}\n${capacity(...EXAMPLE).trimEnd()}\n\`\`\``;
}

function capacityOfSome() {
  const head = ['Events a day', 'APIs', 'workers', 'Redis masters', 'maxmemory, GiB', 'synced writes/s'];
  const rows = PER_DAY.map((perDay) => {
    const { api, worker, redis, postgres } = JSON.parse(capacity('--events', String(perDay), '--json'));
    const gib = (/** @type {number} */ bytes) => (bytes / 2 ** 30).toFixed(1);
    const whole = (/** @type {number} */ value) => Math.ceil(value).toLocaleString('en-US');
    return [
      perDay.toLocaleString('en-US'),
      ...[api.replicas, worker.replicas, redis.masters].map(String),
      gib(redis.maxmemory),
      whole(redis.syncs),
      whole(postgres.disk / 2 ** 30),
    ];
  });
  return drawTable([[...head, 'disk of PostgreSQL, GiB'], ...rows], 'figures');
}

/** @param {readonly string[]} args */
function capacity(...args) {
  const program = join(projectFolder, 'apps/admin/bin/hookferry-admin.js');
  return execFileSync(process.execPath, [program, 'capacity', ...args], { encoding: 'utf8' });
}

/** @param {Record<string, Measurement>} measurements @param {number} most */
function listOld(measurements, most) {
  for (const [name, { commit, paths, date, command }] of Object.entries(measurements)) {
    const since = Number(git('rev-list', '--count', `${commit}..HEAD`, '--', ...paths));
    const age = `${name}: measured on ${date}, ${since} commits ago of ${paths.join(', ')}`;
    say('figures', since > most ? `${age}: too old. ${command}` : age);
  }
}

/** @param {string} path @returns {any} */
function readJson(path) {
  return JSON.parse(readFileSync(path, 'utf8'));
}

/** @param {readonly string[]} args */
function git(...args) {
  return execFileSync('git', args, { cwd: options.root, encoding: 'utf8' }).trim();
}
