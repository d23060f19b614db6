import { durationSchema } from '@hookferry/core/platform/duration';
import type { Command } from 'commander';
import { z } from 'zod';
import { type Cli, jsonOption, jsonSchema, parseFlags } from './cli';
import { type Capacity, computeCapacity, FIGURES, type Load } from './compute-capacity';
import { formatJson } from './format';

const COUNT = /^(\d+(?:\.\d+)?)([kMG]?)$/;
const COUNT_UNITS = { '': 1, k: 1e3, M: 1e6, G: 1e9 } as const;
const SIZE = /^(\d+(?:\.\d+)?)(B|kB|KiB|MB|MiB|)$/;
const SIZE_UNITS = { '': 1, B: 1, kB: 1e3, KiB: 1_024, MB: 1e6, MiB: 1_048_576 } as const;

/** @param most so that no sum overflows, and each line can be read. */
function amountSchema(
  pattern: RegExp,
  units: Readonly<Record<string, number>>,
  example: string,
  most: string,
) {
  const valueOf = (text: string) => {
    const [, amount, unit = ''] = pattern.exec(text.trim()) ?? [];
    return Number(amount) * (units[unit] ?? Number.NaN);
  };
  return z.string().transform((text, context) => {
    const value = valueOf(text);
    if (value > 0 && value <= valueOf(most)) return value;
    const message = value > 0 ? `must be at most ${most}` : `must be above 0, such as ${example}`;
    context.addIssue({ code: 'custom', message });
    return z.NEVER;
  });
}

const positive = (most: number) =>
  z.coerce
    .number('must be a number above 0')
    .gt(0, 'must be above 0')
    .max(most, `must be at most ${most.toLocaleString('en-US')}`);
const atLeastOne = z.coerce
  .number('must be a number of at least 1')
  .min(1, 'must be at least 1')
  .max(1_000, 'must be at most 1,000');
const LEAST_BUSY = 0.01;
const share = 'must be a number from 0 to 1';
const LEAST_MEMORY = 512 * 1_048_576;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

const flagsSchema = z.object({
  events: amountSchema(COUNT, COUNT_UNITS, '500k or 5M', '1000G'),
  webhooks: positive(100_000).default(1),
  days: positive(36_500).default(90),
  payload: amountSchema(SIZE, SIZE_UNITS, '500B or 1KiB', '100MB').default(100),
  history: z.boolean().default(true),
  peak: atLeastOne.default(3),
  attempts: atLeastOne.default(1.05),
  busy: z.coerce.number(share).min(LEAST_BUSY, `must be at least ${LEAST_BUSY}`).max(1, share).default(0.6),
  response: durationSchema.default(100),
  away: durationSchema.default(8 * HOUR_MS),
  chosenIds: z.coerce.number(share).min(0, share).max(1, share).default(0),
  retention: durationSchema.default(14 * DAY_MS),
  json: jsonSchema,
});

/** What hardware a load takes. It connects to nothing. */
export function addCapacity(program: Command, { output }: Cli): void {
  program
    .command('capacity')
    .description('Compute what hardware a load needs, from the figures that this version was measured with.')
    .requiredOption('--events <number>', 'events a day, such as 500k or 5M')
    .option('--webhooks <number>', 'webhooks that get an event, on average (default: 1)')
    .option('--days <number>', 'days for which ended deliveries are kept (default: 90)')
    .option('--payload <size>', "bytes of an event's data, such as 500B or 1KiB (default: 100B)")
    .option('--no-history', 'without PostgreSQL: Redis keeps all of these days')
    .option('--peak <number>', 'the busiest hour, in averages (default: 3)')
    .option('--attempts <number>', 'attempts of a delivery, on average (default: 1.05)')
    .option('--busy <share>', 'how busy a processor may be, up to 1 (default: 0.6)')
    .option('--response <duration>', 'how long receivers take (default: 100ms)')
    .option('--away <duration>', 'how long PostgreSQL may be away (default: 8h)')
    .option('--chosen-ids <share>', 'which share of the events has an id that clients chose (default: 0)')
    .option('--retention <duration>', 'RETENTION, for which these ids are known (default: 14d)')
    .addOption(jsonOption())
    .action((given: unknown) => {
      const { history, response, away, retention, json, payload, ...flags } = parseFlags(flagsSchema, given);
      const load: Load = {
        ...flags,
        hasHistory: history,
        payloadBytes: payload,
        responseMs: response,
        awayHours: away / HOUR_MS,
        retentionDays: retention / DAY_MS,
      };
      const capacity = computeCapacity(load);
      output.out(json ? formatJson({ load, ...capacity, figures: FIGURES }) : draw(load, capacity));
    });
}

const whole = (value: number) => Math.ceil(value).toLocaleString('en-US');
const GIB = 2 ** 30;
const MIB = 2 ** 20;

function sizeOf(bytes: number): string {
  const inGib = bytes / GIB;
  if (inGib >= 100) return `${whole(inGib)} GiB`;
  return inGib >= 1 ? `${(Math.ceil(inGib * 10) / 10).toString()} GiB` : `${whole(bytes / MIB)} MiB`;
}

const micros = (of: { at20: number; at100: number; saturated: number }) =>
  `${of.at20}, ${of.at100}, ${of.saturated} µs`;

function draw(load: Load, capacity: Capacity): string {
  const { atPeak } = capacity;
  const kept = load.hasHistory ? 'in PostgreSQL' : 'in Redis';
  const title = `${whole(load.events)} events a day, ${load.webhooks} webhooks each, ${load.days} days ${kept}`;
  const sections = [
    ['At the peak', loadRows(load, capacity)],
    ['Order', orderRows(load, capacity)],
    ['How it is computed', formulaRows(load, capacity)],
    ['Measured', sourceRows()],
  ] as const;
  const text = sections.map(([head, rows]) => `${head}\n${rows.map(formatRow).join('')}`).join('\n');
  return `${title}\n\n${text}${noteOf(atPeak.events)}`;
}

type Row = readonly [string, string];
const LABEL = 14;

function formatRow([label, text]: Row): string {
  return `  ${label.padEnd(LABEL)}${text}\n`;
}

function loadRows({ peak, webhooks, attempts }: Load, { atPeak }: Capacity): readonly Row[] {
  return [
    ['events', `${whole(atPeak.events)} a second = events a day ÷ 86,400 × ${peak}`],
    ['deliveries', `${whole(atPeak.deliveries)} a second = events × ${webhooks}`],
    [
      'attempts',
      `${whole(atPeak.attempts)} a second = deliveries × ${attempts}, ${whole(atPeak.underWay)} of them under way`,
    ],
  ];
}

function orderRows(load: Load, { api, worker, redis, postgres }: Capacity): readonly Row[] {
  const process = (memory: number) => `1 core and ${sizeOf(Math.max(2 * memory, LEAST_MEMORY))} each`;
  const rows: Row[] = [
    ['API', `${api.replicas} × ${process(api.memory)}`],
    ['worker', `${worker.replicas} × ${process(worker.memory)}`],
    [
      'Redis',
      `${redis.masters} × 2 cores and ${sizeOf(redis.machine / redis.masters)}, maxmemory ${sizeOf(redis.maxmemory / redis.masters)}`,
    ],
    [
      '',
      `disk ${sizeOf(redis.disk / redis.masters)}, ${whole(redis.syncs / redis.masters)} synced writes a second (IOPS) so that no event waits`,
    ],
    ['', 'and as much again for each replica; a fail-over needs one, min-replicas-to-write two'],
  ];
  if (postgres === undefined) return rows;
  return [
    ...rows,
    [
      'PostgreSQL',
      `${Math.max(Math.ceil(postgres.cores / load.busy), 2)} cores, disk ${sizeOf(postgres.disk)}`,
    ],
    ['', `max_connections ${postgres.connections + 20}, max_locks_per_transaction ${whole(postgres.locks)}`],
  ];
}

function formulaRows(load: Load, { api, worker, redis, postgres }: Capacity): readonly Row[] {
  const busy = (cores: number) => `${cores.toFixed(2)} cores ÷ ${load.busy}`;
  const rows: Row[] = [
    ['API', `${busy(api.cores)} = events × cost of an event at that rate; two at least`],
    [
      'worker',
      `${busy(worker.cores)} = events, further attempts${load.hasHistory ? ' and moving' : ''}; two at least`,
    ],
    ['Redis', `${busy(redis.cores)} = the same, by its own costs`],
    ...memoryRows(load, redis),
    ...idRows(load),
    ['', `maxmemory a third above ${sizeOf(redis.needed)}; the machine twice that: rewriting copies`],
    [
      'Redis disk',
      `three files of maxmemory × ${FIGURES.aof.rewritten}: the grown one is twice the old, the new beside it`,
    ],
    ['', `${whole(redis.writtenBytes)} bytes an event, ${sizeOf(redis.writtenADay)} written a day`],
  ];
  if (postgres === undefined) return rows;
  const { eventBytes, deliveryBytes, attemptBytes } = FIGURES.history;
  return [
    ...rows,
    ['PostgreSQL', `${busy(postgres.cores)} = deliveries × moving one; two at least, for readers`],
    [
      '',
      `${whole(postgres.eventBytes)} bytes an event = ${eventBytes} + payload + webhooks × (${deliveryBytes} + attempts × ${attemptBytes})`,
    ],
    ['', `${sizeOf(postgres.kept)} = events × ${load.days} days × that; a third of the disk stays free`],
  ];
}

function memoryRows(load: Load, { eventBytes, kept }: Capacity['redis']): readonly Row[] {
  const each: Row = ['Redis memory', `${whole(eventBytes)} bytes an event, with its deliveries`];
  if ('all' in kept) return [each, ['', `${sizeOf(kept.all)} = events × ${load.days} days × that`]];
  const ids: readonly Row[] = kept.ids === 0 ? [] : [['', `${sizeOf(kept.ids)} of ids that clients choose`]];
  return [
    each,
    ['', `${sizeOf(kept.waiting)} of 70 s at the peak`],
    ['', `${sizeOf(kept.away)} of ${load.awayHours} h on average, while PostgreSQL is away`],
    ...ids,
  ];
}

/** What the ids of clients would take, where nothing is said of them: it may be as much as all else. */
function idRows({ events, chosenIds, hasHistory, retentionDays }: Load): readonly Row[] {
  if (!hasHistory || chosenIds > 0) return [];
  const bytes = sizeOf(events * retentionDays * FIGURES.history.idBytes);
  return [['', `${bytes} more if clients choose the ids of all events: --chosen-ids 1`]];
}

function sourceRows(): readonly Row[] {
  const { path, scale, history, aof } = FIGURES;
  return [
    [
      'of an event',
      `API ${micros(path.api)} at 20/s, 100/s and ${whole(path.deliveredPerSecond)}/s (path, ${path.date})`,
    ],
    ['', `worker ${micros(path.worker)}; Redis ${micros(path.redis)}`],
    [
      'a further one',
      `worker ${scale.workerMicros} µs, Redis ${scale.redisMicros} µs, more at low rates, as events are (scale, ${scale.date})`,
    ],
    [
      'moving one',
      `worker ${history.movingWorkerMicros}, Redis ${history.movingRedisMicros}, PostgreSQL ${history.movingPostgresMicros} µs (history, ${history.date})`,
    ],
    [
      'Redis’ file',
      `${aof.writtenForEvent} bytes an event, ${aof.writtenForDelivery} a further delivery (aof, ${aof.date})`,
    ],
    ['', `${aof.syncsOfEvent} syncs an event that comes alone, ${aof.syncsOfDelivery} a further delivery`],
  ];
}

function noteOf(events: number): string {
  const lone =
    events <= 100
      ? '\nAt so low a rate each event does its work alone: dashboards show the first two costs.\n'
      : '';
  return `${lone}\nTwo cores that nobody else used: measure yours with npm run bench, and compare docs/performance.md.\n`;
}
