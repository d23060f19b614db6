// @ts-check
/**
 * `npm run figures`: what was measured, in `docs/figures.json`, and every page that quotes it.
 *
 * - `npm run figures -- path=path.json drain=drain.json` takes in what `npm run bench -- path --json path.json` has written, and
 *   brings the pages up to date. `--commit` and `--date` say of which version and day the files are: otherwise HEAD and today.
 * - `npm run figures` alone brings the pages up to date, `npm run figures -- --check` says which are not, and exits with 1.
 * - `npm run figures -- --age 100` lists what was measured more than 100 commits ago, of those that changed what it measures.
 *
 * A page quotes a figure as `<!-- figure: path.saturated-cpu-per-event-api -->177 µs<!-- / -->`. What follows its name is `.ratio`,
 * its ratio to what it is compared with, `.pair`, that one's figure, `.a-second`, how often one core does it in a second, or `.date`, the
 * day on which it was measured.
 */
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { drawCapacity, USUAL } from './capacity.mjs';
import { withTable } from './page-table.mjs';
import { describeError, Problem } from './problem.mjs';
import { projectFolder } from './project-folders.mjs';
import { say } from './say.mjs';

const MARKED = /<!-- figure: ([\w-]+)\.([\w-]+)(?:\.([\w-]+))? -->([^<]*)<!-- \/ -->/g;
const COMMAND = 'npm run figures';

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
  const measurements = JSON.parse(readFileSync(file, 'utf8'));
  if (options.age !== undefined) listOld(measurements, Number(options.age));
  else {
    for (const each of positionals) takeIn(measurements, each);
    if (positionals.length > 0) writeFileSync(file, `${JSON.stringify(measurements, undefined, 2)}\n`);
    const wrong = pages().flatMap((page) => bringUpToDate(page, measurements));
    for (const text of wrong) say('figures', text);
    if (options.check && wrong.length > 0) process.exitCode = 1;
  }
} catch (error) {
  say('figures', describeError(error));
  process.exitCode = 1;
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
  const { ratios } = JSON.parse(readFileSync(path, 'utf8'));
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
  return name
    .replace(/, (µs|ms|MB|bytes)( a second)?$/, '')
    .toLowerCase()
    .replace('100/s', 'at-100')
    .replace('20/s', 'at-20')
    .replace(/[^a-z0-9]+/g, '-');
}

/** @param {number} value */
function rounded(value) {
  // Not -0, which JSON has no word for.
  return Number(Math.abs(value) >= 100 ? value.toFixed(0) : value.toFixed(1)) + 0;
}

/** @param {number | undefined} value */
function textOf(value) {
  if (value === undefined || value === null) return '';
  return Number.isInteger(value) ? value.toLocaleString('en-US') : String(value);
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
  for (const [name, measurement] of Object.entries(measurements)) {
    if (!written.includes(`<!-- figures of ${name}:`)) continue;
    const before = written;
    written = withTable(written, `figures of ${name}`, COMMAND, describe(measurement));
    if (written !== before)
      wrong.push(`${page}: the table of ${name} is outdated. Update it: npm run figures`);
  }
  if (written.includes('<!-- capacity:')) {
    const before = written;
    written = withTable(written, 'capacity', COMMAND, drawCapacity(costsIn(measurements), USUAL).trimEnd());
    if (written !== before)
      wrong.push(`${page}: the table of capacities is outdated. Update it: npm run figures`);
  }
  if (!options.check && written !== text) writeFileSync(path, written);
  return wrong;
}

/** @param {Measurement | undefined} measurement @param {string} id @param {string | undefined} kind */
function quote(measurement, id, kind) {
  const figure = measurement?.figures[id];
  if (figure === undefined) return undefined;
  if (kind === 'date') return dayOf(measurement?.date ?? '');
  const { value, unit } = figure;
  const withUnit = (/** @type {number | undefined} */ number) =>
    unit ? `${textOf(number)} ${unit}` : textOf(number);
  if (kind === undefined) return withUnit(value);
  if (kind === 'pair') return withUnit(figure.pair);
  if (kind === 'ratio') return figure.ratio?.toFixed(2);
  if (kind === 'a-second') return textOf(Number((1e6 / value).toPrecision(2)));
  return undefined;
}

/** @param {string} date such as 2026-11-27 @returns such as 27 November 2026 */
function dayOf(date) {
  return new Date(date).toLocaleDateString('en-GB', { dateStyle: 'long', timeZone: 'UTC' });
}

/** @param {Record<string, Measurement>} measurements */
function costsIn({ path, scale }) {
  const of = (/** @type {Measurement | undefined} */ measurement, /** @type {string} */ id) => {
    const figure = measurement?.figures[id];
    if (figure === undefined)
      throw new Problem(`docs/figures.json has no ${id}, which the capacity is computed from.`);
    return figure.value;
  };
  return {
    event: {
      apiMicros: of(path, 'saturated-cpu-per-event-api'),
      workerMicros: of(path, 'saturated-cpu-per-event-worker'),
      redisMicros: of(path, 'saturated-cpu-per-event-redis'),
    },
    delivery: {
      workerMicros: of(scale, 'worker-cpu'),
      redisMicros: of(scale, 'redis-cpu'),
      redisBytes: of(scale, 'redis-bytes'),
    },
  };
}

/** When, where and of which version it was measured, and the table. @param {Measurement} measurement */
function describe({ command, date, machine, commit, pair, own = 'Hookferry', figures }) {
  const rows = Object.values(figures).map(({ name, value, pair: other, ratio, aim, met }) => [
    name,
    textOf(other),
    textOf(value),
    ratio === undefined || ratio === null ? '' : ratio.toFixed(2),
    aim ?? '',
    met === true ? 'yes' : met === false ? 'no' : '',
  ]);
  const table = drawRight([['', pair ?? '', own, 'ratio', 'aim', 'met'], ...rows]);
  return `${date}, at commit \`${commit.slice(0, 8)}\`, by \`${command}\`, on ${machine}:\n\n${table}`;
}

/** A table whose columns but the first are aligned to the right. @param {readonly (readonly string[])[]} rows */
function drawRight(rows) {
  const widths = (rows[0] ?? []).map((_, column) =>
    Math.max(...rows.map((row) => row[column]?.length ?? 0), 2),
  );
  const [head, ...others] = rows.map(
    (row) =>
      `| ${row.map((cell, i) => (i === 0 ? cell.padEnd(widths[i] ?? 0) : cell.padStart(widths[i] ?? 0))).join(' | ')} |`,
  );
  const rule = widths.map((width, i) => (i === 0 ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`));
  return [head, `| ${rule.join(' | ')} |`, ...others].join('\n');
}

/** @param {Record<string, Measurement>} measurements @param {number} most */
function listOld(measurements, most) {
  for (const [name, { commit, paths, date, command }] of Object.entries(measurements)) {
    const since = Number(git('rev-list', '--count', `${commit}..HEAD`, '--', ...paths));
    const age = `${name}: measured on ${date}, ${since} commits ago of ${paths.join(', ')}`;
    say('figures', since > most ? `${age}: too old. ${command}` : age);
  }
}

/** @param {readonly string[]} args */
function git(...args) {
  return execFileSync('git', args, { cwd: options.root, encoding: 'utf8' }).trim();
}

function pages() {
  const names = readdirSync(join(options.root, 'docs'), { recursive: true, encoding: 'utf8' });
  return ['README.md', ...names.filter((name) => name.endsWith('.md')).map((name) => `docs/${name}`)];
}
