/** What a full queue costs when its deliveries may not all run at once, or run together. */
import type { Endpoint } from '@hookferry/core/domain/endpoint';
import { compare, type Figure, inTurn } from '../compare';
import { roundsOf, type SuiteOptions } from '../options';
import { drain, serviceOf } from './contenders';
import type { DrainFigures } from './measure';

interface BacklogScene {
  readonly title: string;
  readonly webhooks: number;
  /** How many deliveries are measured. */
  readonly deliveries: number;
  /** What the webhooks are like: their deliveries would run one by one, freely, without it. */
  readonly endpoint: Partial<Endpoint>;
  /** How many groups the events belong to in turn. */
  readonly groups?: number;
  /** How many requests the worker makes at once. Default: as many as in the plain case. */
  readonly atOnce?: number;
  readonly aims: Aims;
}

interface Aims {
  /** Processor time of worker and Redis, beside the plain case. */
  readonly cpu?: number;
  /** Deliveries a second, beside the plain case. */
  readonly rate?: number;
  /** Redis' own, for a delivery: commands, those that scripts call among them, and scripts. */
  readonly commands?: number;
  readonly scripts?: number;
}

const BATCH = 100;
// In Redis for each delivery that waits, beside the records of event and delivery.
const MOST_WAITING_BYTES = 130;

const allScenes: ReadonlyMap<string, BacklogScene> = new Map(
  Object.entries({
    'strict-backlog': {
      title: 'ten webhooks with strict ordering',
      webhooks: 10,
      deliveries: 10_000,
      endpoint: { ordering: 'strict' },
      aims: { cpu: 1.25, commands: 36, scripts: 0.5 },
    },
    // What of the price of an order is that of few requests at once.
    'ten-at-once': {
      title: 'ten plain webhooks, ten requests at once',
      webhooks: 10,
      deliveries: 10_000,
      endpoint: {},
      atOnce: 10,
      aims: {},
    },
    'strict-backlog-of-one': {
      title: 'one webhook with strict ordering',
      webhooks: 1,
      deliveries: 3_000,
      endpoint: { ordering: 'strict' },
      aims: { cpu: 3, rate: 0.5 },
    },
    'groups-backlog': {
      title: '1,000 groups of one webhook, in their order',
      webhooks: 1,
      deliveries: 20_000,
      endpoint: { ordering: 'group' },
      groups: 1_000,
      aims: { cpu: 1.15 },
    },
    'batch-backlog': {
      title: `requests of up to ${BATCH} events`,
      webhooks: 1,
      // A request has a hundred of them: of fewer, most would go before the processes run at their usual speed.
      deliveries: 60_000,
      endpoint: { batch: { max_events: BATCH } },
      aims: { cpu: 0.2, commands: 3.5 },
    },
  } satisfies Record<string, BacklogScene>),
);

const DELIVERIES_SHORT = 600;
// Until the processes run at their usual speed.
const WARM_UP_SHARE = 0.5;

/** Each is measured in turn with the same backlog of plain webhooks, or with the same case of another build. */
export function backlogScenes(options: SuiteOptions): ReadonlyMap<string, () => Promise<object>> {
  return new Map(
    [...allScenes].map(([name, scene]) => [name, () => measureScene(name, scene, options)] as const),
  );
}

async function measureScene(name: string, scene: BacklogScene, options: SuiteOptions): Promise<object> {
  const { webhooks: endpoints, endpoint, groups, atOnce, aims } = scene;
  const { build, against } = options;
  const measured = options.deliveries ?? (options.short ? DELIVERIES_SHORT : scene.deliveries);
  const warmUp = Math.round(measured * WARM_UP_SHARE);
  const own = { endpoints, endpoint, ...(groups === undefined ? {} : { groups }) };
  const base =
    against === undefined
      ? { ...serviceOf(build, 'plain webhooks'), filling: { ...own, endpoint: {} }, atOnce: undefined }
      : { ...serviceOf(against, 'that build'), filling: own, atOnce };
  return await compare({
    title: `${name}: ${scene.title}, ${measured} deliveries wait`,
    rounds: roundsOf(options),
    sides: [base, { ...serviceOf(build, 'this case'), filling: own, atOnce }],
    // Aims are beside the plain case.
    figures: figuresOf(against === undefined ? aims : {}),
    measure: (sides) =>
      inTurn(sides, (side) => drain(side, { ...side, deliveries: warmUp + measured, warmUp })),
    inShort: (r) =>
      `${Math.round(r.deliveriesPerSecond)} deliveries/s, ${r.commands.toFixed(1)} commands each`,
  });
}

function figuresOf({ cpu, rate, commands, scripts }: Partial<Aims>): readonly Figure<DrainFigures>[] {
  return [
    { name: 'CPU per delivery, both, µs', of: (r) => r.workerMicros + r.redisMicros, atMost: cpu },
    { name: 'CPU per delivery, worker, µs', of: (r) => r.workerMicros },
    { name: 'CPU per delivery, Redis, µs', of: (r) => r.redisMicros },
    { name: 'deliveries per second', of: (r) => r.deliveriesPerSecond, atLeast: rate },
    { name: 'Redis commands per delivery', of: (r) => r.commands, isOwn: true, atMost: commands },
    { name: 'Redis scripts per delivery', of: (r) => r.scripts, isOwn: true, atMost: scripts },
    {
      name: 'bytes in Redis of one that waits',
      of: (r) => r.waitingBytes,
      isOwn: true,
      atMost: cpu === undefined ? undefined : MOST_WAITING_BYTES,
    },
  ];
}
