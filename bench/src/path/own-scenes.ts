/** What a case costs the service, beside what the plain one costs it: a webhook that accepts at once. */
import { DEFAULT_ACCOUNT } from '@hookferry/core/domain/account';
import { compare, inTurn } from '../compare';
import { drain, serviceOf } from '../drain/contenders';
import { choose, roundsOf, type SuiteOptions } from '../options';
import { writeJson } from '../report';
import { pushEvents } from '../traffic/push-events';
import {
  type Cost,
  cpuFigures,
  inShort,
  measureLoad,
  measureSaturated,
  postgresFigure,
  rateFigure,
} from './measure';
import {
  onStage,
  type PathContender,
  plainContender,
  type ServiceOptions,
  type Stage,
  type StageOptions,
  serviceContender,
} from './stage';

/** Something that is measured by itself. */
interface Side {
  readonly name: string;
  measure(): Promise<Cost>;
}

interface OwnScene {
  readonly title: string;
  /** What the cost is of; an event unless given. */
  readonly unit?: 'attempt' | 'delivery';
  /** The aim, for the ratio of processor time; none: it is there to be looked at. */
  readonly atMost?: number;
  /** The aim for Redis' processor time: by how many microseconds it may be above the other side's. */
  readonly redisAtMostMore?: number;
  /** Whether PostgreSQL's processor time is told as well. */
  readonly hasHistory?: true;
  /** What it is held against, and the case. */
  readonly sides: readonly [Side, Side];
}

const SIZE = { events: 10_000, webhooks: 1_000, fanOut: 10_000, drained: 20_000 };
const SHORT_SIZE: typeof SIZE = { events: 200, webhooks: 50, fanOut: 500, drained: 1_000 };

const PACED_PER_SECOND = 100;
const BATCH = 100;
const BATCHES_AT_ONCE = 4;

// A case may cost a quarter more than the plain one.
const AT_MOST = 1.25;

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
  const { deliveries } = options;
  const size = options.short ? SHORT_SIZE : SIZE;
  const plain: Case = {
    name: 'plain case',
    events: deliveries ?? size.events,
    contender: serviceContender(options),
  };
  const ours = (more: Partial<ServiceOptions>) => ({ contender: serviceContender({ ...options, ...more }) });
  /** The case beside the plain one, or beside another base. */
  const beside = (own: Partial<Case>, base: Partial<Case> = {}): OwnScene['sides'] => [
    sideOf({ ...plain, ...base }),
    sideOf({ ...plain, name: 'this case', ...own }),
  ];
  // Few events each: so none fails ten times in a row, which would open its circuit breaker, and none has two under way.
  const many = { webhooks: size.webhooks };
  /** Requests that are under way together share a wait for the replica, or a commit. */
  const atATime = (atOnce: number): Load => ({
    text: `${atOnce} ${atOnce === 1 ? 'request' : 'requests'} at a time`,
    measure: (stage, events) => measureSaturated(stage, events, { atOnce }),
  });
  /** The side that responds faster has more to do each second, which makes an event cheaper: not so at the same pace. */
  const paced: Load = {
    text: `one after the other, ${PACED_PER_SECOND} a second`,
    measure: (stage, events) =>
      measureSaturated(stage, events, { atOnce: 1, atMostPerSecond: PACED_PER_SECOND }),
  };
  const confirmed = ({ text, measure }: Load, redisAtMostMore?: number): OwnScene => {
    const base = { stage: { hasReplica: true }, measure };
    return {
      title: `responses that a replica has confirmed, ${text}`,
      ...(redisAtMostMore === undefined ? {} : { redisAtMostMore }),
      sides: beside({ ...base, ...ours({ environment: { REDIS_CONFIRMED_BY: '1' } }) }, base),
    };
  };
  const durable = ({ text, measure }: Load): OwnScene => {
    const base = { stage: { hasHistory: true }, measure };
    return {
      title: `events that PostgreSQL has first, ${text}`,
      hasHistory: true,
      sides: beside({ ...base, ...ours({ environment: { INTAKE: 'durable' } }) }, base),
    };
  };
  const scenes: Readonly<Record<string, OwnScene>> = {
    retry: {
      title: `${many.webhooks} webhooks, each event is answered with 500 once`,
      unit: 'attempt',
      atMost: AT_MOST,
      sides: beside(
        {
          ...ours({ environment: { RETRY_SCHEDULE: '1s,1s' } }),
          stage: { ...many, behaviour: 'retry' },
          unitsPerEvent: 2,
        },
        { stage: many },
      ),
    },
    bodies: {
      title: 'answers with a body of 2 KB',
      atMost: AT_MOST,
      sides: beside({ stage: { behaviour: 'body' } }),
    },
    'rate-limited': {
      title: 'a rate limit that is not reached',
      atMost: AT_MOST,
      sides: beside(ours({ webhook: { rate_limit: RATE_LIMIT } })),
    },
    strict: {
      title: `${many.webhooks} webhooks with strict ordering`,
      atMost: AT_MOST,
      sides: beside({ ...ours({ webhook: { ordering: 'strict' } }), stage: many }, { stage: many }),
    },
    filtered: {
      title: 'a filter that all events pass',
      atMost: AT_MOST,
      sides: beside(ours({ webhook: { filter: FILTER } })),
    },
    'own-types': {
      title: "an event type of the operator's, with a schema",
      atMost: AT_MOST,
      sides: beside(ours({ ownType: OWN_TYPE })),
    },
    pushed: {
      title: 'events pushed onto the queue',
      atMost: AT_MOST,
      sides: beside({ measure: measurePushed }),
    },
    batch: {
      title: `batches of ${BATCH} events, beside single events of the ${plainContender.name}`,
      atMost: 0.53,
      sides: beside({ measure: measureBatches }, { name: plainContender.name, contender: plainContender }),
    },
    transformed: {
      title: 'bodies that code makes',
      sides: beside(ours({ transformation: CODE })),
    },
    'confirmed-paced': confirmed(paced, 25),
    'confirmed-1': confirmed(atATime(1)),
    'confirmed-10': confirmed(atATime(10), 8),
    'confirmed-100': confirmed(atATime(100)),
    'durable-paced': durable(paced),
    'durable-1': durable(atATime(1)),
    'durable-10': durable(atATime(10)),
    'durable-100': durable(atATime(100)),
    'fan-out': {
      title: `one event to ${size.fanOut} webhooks, beside the drain of a queue`,
      unit: 'delivery',
      atMost: 1.05,
      sides: [
        drainSide(options.build, size.drained),
        sideOf({
          ...plain,
          name: 'this case',
          events: 1,
          stage: { webhooks: size.fanOut },
          measure: measureFanOut,
        }),
      ],
    },
  };
  return new Map(Object.entries(scenes));
}

/** Measures each of the scenes that were asked for, in turn with what it is held against. */
export async function runOwnScenes(options: SuiteOptions): Promise<void> {
  const names = options.scenes?.includes('all') ? undefined : options.scenes;
  const results: object[] = [];
  for (const [name, scene] of choose('scene', allScenes(options), names)) {
    const { unit = 'event', atMost, redisAtMostMore, hasHistory, sides } = scene;
    const title = `${name}: ${scene.title}`;
    process.stderr.write(`  ${title}\n`);
    const result = await compare({
      ...{ title, sides, inShort },
      rounds: roundsOf(options),
      figures: [
        ...cpuFigures(unit, atMost, redisAtMostMore),
        ...(hasHistory ? [postgresFigure(unit)] : []),
        rateFigure(),
      ],
      measure: (order) => inTurn(order, (side) => side.measure()),
    });
    results.push({ name, ...result });
    // What was measured is kept when a later scene breaks off.
    await writeJson(options.json, { scenes: results });
  }
}

/** How events come. */
interface Load {
  readonly text: string;
  readonly measure: (stage: Stage, events: number) => Promise<Cost>;
}

/** A contender, what its webhooks do, and how events are published. */
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

// Until the processes run at their usual speed.
const WARM_UP_SHARE = 0.5;

function sideOf(of: Case): Side {
  const { name, contender, events, stage, measure = measureSaturated, unitsPerEvent: units = 1 } = of;
  return {
    name,
    measure: () =>
      onStage(
        contender,
        async (on) => {
          await measure(on, Math.round(events * WARM_UP_SHARE));
          const { deliveredPerSecond, ...cost } = await measure(on, events);
          return {
            totalMicros: cost.totalMicros / units,
            apiMicros: cost.apiMicros / units,
            workerMicros: cost.workerMicros / units,
            redisMicros: cost.redisMicros / units,
            postgresMicros: cost.postgresMicros / units,
            deliveredPerSecond,
          };
        },
        stage,
      ),
  };
}

function drainSide(build: string, deliveries: number): Side {
  return {
    name: 'drain',
    async measure() {
      const figures = await drain(serviceOf(build), { deliveries, warmUp: 1 });
      const { workerMicros, redisMicros, deliveriesPerSecond: deliveredPerSecond } = figures;
      const totalMicros = workerMicros + redisMicros;
      return { totalMicros, apiMicros: 0, workerMicros, redisMicros, postgresMicros: 0, deliveredPerSecond };
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
    return sender.ask('publishBatches', batches, BATCHES_AT_ONCE);
  });
}

/** Each event goes to all webhooks. */
async function measureFanOut(stage: Stage, events: number): Promise<Cost> {
  const { sender, pair } = stage;
  const { webhookIds = [], ...target } = pair.target;
  const publish = (firstEvent: number) => sender.ask('publish', { target, firstEvent, events, atOnce: 1 });
  return await measureLoad(stage, publish, { deliveriesEach: webhookIds.length });
}
