/** What a case costs the service, beside what the plain one costs it: a webhook that accepts at once. */
import { DEFAULT_ACCOUNT } from '@hookferry/core/domain/account';
import { type DrainOptions, drainService } from '../drain/index';
import { writeJson } from '../report';
import type { SuiteOptions } from '../suite';
import { pushEvents } from '../traffic/push-events';
import { compareFigures, type Figure, inTurns, type MeasuredSide, printVerdicts } from './compare';
import { inShort, type LoadFigures, measureLoad, measureSaturated } from './measure';
import {
  onStage,
  type PathContender,
  plainContender,
  type ServiceOptions,
  type Stage,
  type StageOptions,
  serviceContender,
} from './stage';

/** In microseconds of processor time, each time. */
type Cost = Pick<
  LoadFigures,
  'totalMicros' | 'apiMicros' | 'workerMicros' | 'redisMicros' | 'deliveredPerSecond'
>;

interface OwnScene {
  readonly title: string;
  /** What the cost is of. */
  readonly unit: 'event' | 'attempt' | 'delivery';
  /** The aim, for the ratio of processor time; undefined: it is there to be looked at. */
  readonly atMost: number | undefined;
  /** What it is held against, and the case. */
  readonly sides: readonly [MeasuredSide<Cost>, MeasuredSide<Cost>];
}

const SIZE = { events: 10_000, webhooks: 1_000, fanOut: 10_000, drained: 20_000, groups: 10_000 };
const SHORT_SIZE: typeof SIZE = { events: 200, webhooks: 50, fanOut: 500, drained: 1_000, groups: 300 };

const BATCH = 100;
const BATCHES_AT_ONCE = 4;

// A case may cost a quarter more than the plain one.
const AT_MOST = 1.25;
const BATCH_AT_MOST = 0.53;
const FAN_OUT_AT_MOST = 1.05;
const BATCHED_AT_MOST = 0.25;

// What a chat wants, with what the receiver tells events by.
const CODE = `export default function (event) {
  const { keyword, position } = event.data;
  return { body: { text: \`\${event.type}: \${keyword} is at \${position}\`, keyword } };
}`;

const RATE_LIMIT = 10_000;
const FILTER = { position: { lte: 10 }, keyword: { starts_with: 'event' } };
const OWN_TYPE = {
  name: 'benchmark.own_type',
  schema: {
    type: 'object',
    properties: {
      keyword: { type: 'string', minLength: 1, maxLength: 200 },
      position: { type: 'integer', minimum: 1 },
      volume: { type: 'integer', minimum: 0 },
    },
    required: ['keyword', 'position'],
    additionalProperties: false,
  },
};

/** All of them, by the names that the command line knows them by. */
function allScenes(options: SuiteOptions): ReadonlyMap<string, OwnScene> {
  const size = options.short ? SHORT_SIZE : SIZE;
  const events = options.deliveries ?? size.events;
  const plain: Case = { name: 'plain case', events, contender: serviceContender(options) };
  const many = { webhooks: size.webhooks };
  const compare = (title: string, { base = plain, ...own }: SceneOptions): OwnScene => ({
    title,
    unit: 'event',
    atMost: AT_MOST,
    sides: [sideOf(base), sideOf({ ...plain, name: 'this case', ...own })],
  });
  /** Of a queue that is full of the events of one webhook. */
  const compareDrains = (
    title: string,
    atMost: number | undefined,
    filling: DrainOptions['filling'],
  ): OwnScene => {
    const drained = options.deliveries ?? size.drained;
    const plainly = { ...filling, endpoint: {} };
    const side = (name: string, full: DrainOptions['filling']) =>
      drainSide(name, options.build, drained, full);
    return {
      title,
      unit: 'delivery',
      atMost,
      sides: [side('plain webhook', plainly), side('this case', filling)],
    };
  };
  const ours = (more: Partial<ServiceOptions>) => ({ contender: serviceContender({ ...options, ...more }) });
  return new Map<string, OwnScene>([
    [
      'retry',
      {
        ...compare(`${many.webhooks} webhooks, each event is answered with 500 once`, {
          ...ours({ environment: { RETRY_SCHEDULE: '1s,1s' } }),
          // Few events each, so that none fails ten times in a row, which would open its circuit breaker.
          stage: { ...many, behaviour: 'retry' },
          unitsPerEvent: 2,
          base: { ...plain, stage: many },
        }),
        unit: 'attempt',
      },
    ],
    ['bodies', compare('answers with a body of 2 KB', { stage: { behaviour: 'body' } })],
    [
      'rate-limited',
      compare('a rate limit that is not reached', ours({ webhook: { rate_limit: RATE_LIMIT } })),
    ],
    [
      'strict',
      compare(`${many.webhooks} webhooks with strict ordering`, {
        ...ours({ webhook: { ordering: 'strict' } }),
        // So many that none has more than one event under way.
        stage: many,
        base: { ...plain, stage: many },
      }),
    ],
    ['filtered', compare('a filter that all events pass', ours({ webhook: { filter: FILTER } }))],
    ['own-types', compare("an event type of the operator's, with a schema", ours({ ownType: OWN_TYPE }))],
    ['pushed', compare('events pushed onto the queue', { measure: measurePushed })],
    [
      'batch',
      {
        ...compare(`batches of ${BATCH} events, beside single events of the ${plainContender.name}`, {
          measure: measureBatches,
          base: { ...plain, name: plainContender.name, contender: plainContender },
        }),
        atMost: BATCH_AT_MOST,
      },
    ],
    [
      'transformed',
      { ...compare('bodies that code makes', ours({ transformation: CODE })), atMost: undefined },
    ],
    [
      'batched',
      compareDrains(`requests of up to ${BATCH} events`, BATCHED_AT_MOST, {
        endpoints: 1,
        endpoint: { batch: { max_events: BATCH } },
      }),
    ],
    [
      'groups',
      compareDrains(`${size.groups} groups of one webhook, in their order`, undefined, {
        endpoints: 1,
        groups: size.groups,
        endpoint: { ordering: 'group' },
      }),
    ],
    [
      'fan-out',
      {
        title: `one event to ${size.fanOut} webhooks, beside the drain of a queue`,
        unit: 'delivery',
        atMost: FAN_OUT_AT_MOST,
        sides: [
          drainSide('drain', options.build, size.drained),
          sideOf({
            ...plain,
            name: 'this case',
            events: 1,
            stage: { webhooks: size.fanOut },
            measure: measureFanOut,
          }),
        ],
      },
    ],
  ]);
}

/** Those that were asked for. */
function scenesOf(options: SuiteOptions): readonly (readonly [string, OwnScene])[] {
  const all = allScenes(options);
  const { scenes: names = [] } = options;
  if (names.includes('all')) return [...all];
  return names.map((name) => {
    const scene = all.get(name);
    if (!scene)
      throw new Error(`There is no scene "${name}". The scenes are: ${[...all.keys(), 'all'].join(', ')}.`);
    return [name, scene];
  });
}

/** Measures each of these scenes, in turn with what it is held against. */
export async function runOwnScenes(options: SuiteOptions): Promise<void> {
  const rounds = options.rounds ?? (options.short ? 1 : 3);
  const results: object[] = [];
  for (const [name, { title, unit, atMost, sides }] of scenesOf(options)) {
    process.stderr.write(`  ${name}: ${title}\n`);
    const raw = await inTurns({ rounds, sides, inShort });
    const ratios = compareFigures(figuresOf(unit, atMost), raw.plain, raw.service);
    const [base, own] = sides;
    printVerdicts(`${name}: ${title} (median of ${rounds})`, ratios, [base.name, own.name]);
    results.push({ name, ratios, raw });
    // What was measured is kept when a later scene breaks off.
    await writeJson(options.json, { scenes: results });
  }
}

function figuresOf(unit: OwnScene['unit'], atMost: OwnScene['atMost']): readonly Figure<Cost>[] {
  return [
    {
      name: `CPU per ${unit}, all, µs`,
      of: (r) => r.totalMicros,
      kind: 'ratio',
      ...(atMost !== undefined && { atMost }),
    },
    { name: `CPU per ${unit}, API, µs`, of: (r) => r.apiMicros, kind: 'ratio' },
    { name: `CPU per ${unit}, worker, µs`, of: (r) => r.workerMicros, kind: 'ratio' },
    { name: `CPU per ${unit}, Redis, µs`, of: (r) => r.redisMicros, kind: 'ratio' },
    { name: 'delivered per second', of: (r) => r.deliveredPerSecond, kind: 'ratio' },
  ];
}

interface Case {
  readonly name: string;
  readonly contender: PathContender;
  readonly events: number;
  readonly stage?: StageOptions;
  /** Publishes so many events and measures; single ones over HTTP unless given. */
  readonly measure?: (stage: Stage, events: number) => Promise<Cost>;
  /** How many of what the cost is of are in an event. */
  readonly unitsPerEvent?: number;
}

interface SceneOptions extends Partial<Case> {
  /** What it is held against, if not the plain case. */
  readonly base?: Case;
}

// Until the processes run at their usual speed.
const WARM_UP_SHARE = 0.5;

function sideOf({
  name,
  contender,
  events,
  stage,
  measure = measureSaturated,
  unitsPerEvent = 1,
}: Case): MeasuredSide<Cost> {
  return {
    name,
    measure: async () =>
      await onStage(
        contender,
        async (on) => {
          await measure(on, Math.round(events * WARM_UP_SHARE));
          return shareOf(await measure(on, events), unitsPerEvent);
        },
        stage,
      ),
  };
}

function shareOf({ deliveredPerSecond, ...cost }: Cost, units: number): Cost {
  return {
    totalMicros: cost.totalMicros / units,
    apiMicros: cost.apiMicros / units,
    workerMicros: cost.workerMicros / units,
    redisMicros: cost.redisMicros / units,
    deliveredPerSecond,
  };
}

function drainSide(
  name: string,
  build: string,
  deliveries: number,
  filling?: DrainOptions['filling'],
): MeasuredSide<Cost> {
  const warmUp = filling ? Math.round(deliveries * WARM_UP_SHARE) : 1;
  return {
    name,
    async measure() {
      const options = { warmUp, ...(filling && { filling }) };
      const figures = await drainService(build, (filling ? warmUp : 0) + deliveries, options);
      const { workerMicros, redisMicros, deliveriesPerSecond } = figures;
      const totalMicros = workerMicros + redisMicros;
      return {
        totalMicros,
        apiMicros: 0,
        workerMicros,
        redisMicros,
        deliveredPerSecond: deliveriesPerSecond,
      };
    },
  };
}

async function measurePushed(stage: Stage, events: number): Promise<Cost> {
  const { url: redisUrl } = stage.redis;
  return await measureLoad(stage, (firstEvent) =>
    pushEvents({ redisUrl, accountId: DEFAULT_ACCOUNT, firstEvent, events }),
  );
}

async function measureBatches(stage: Stage, events: number): Promise<Cost> {
  const { sender, pair } = stage;
  return await measureLoad(stage, (firstEvent) => {
    const batches = Array.from({ length: Math.ceil(events / BATCH) }, (_, i) => ({
      target: pair.target,
      firstEvent: firstEvent + i * BATCH,
      events: BATCH,
    }));
    return sender.publishBatches(batches, BATCHES_AT_ONCE);
  });
}

/** Each event goes to all webhooks. */
async function measureFanOut(stage: Stage, events: number): Promise<Cost> {
  const { sender, pair } = stage;
  const { webhookIds = [], ...target } = pair.target;
  const publish = (firstEvent: number) => sender.publish({ target, firstEvent, events, atOnce: 1 });
  return await measureLoad(stage, publish, { deliveriesEach: webhookIds.length });
}
