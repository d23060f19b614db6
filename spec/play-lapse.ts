import { type Actor, erase, move, publish, redeliver, work } from './lapse-actors';
import { ALL_RULES, isOpen, LAPSES_AFTER, RETENTION, type Rules, type Server, World } from './lapse-world';

const STEPS = 260;
const EVENTS = 3;
const WEBHOOKS = ['x', 'y', 'z'] as const;

export interface Fault {
  /** The play with this seed shows it again. */
  readonly seed: number;
  /** What was lost, or is left. */
  readonly faults: readonly string[];
}

/**
 * Play as often, each time with another seed, until a play has a fault.
 *
 * @param without the rule that nobody follows.
 */
export function findFault(server: Server, plays: number, without?: keyof Rules): Fault | undefined {
  const rules = without === undefined ? ALL_RULES : { ...ALL_RULES, [without]: false };
  for (let seed = 1; seed <= plays; seed += 1) {
    const faults = playOnce(seed, server, rules);
    if (faults.length > 0) return { seed, faults: [...new Set(faults.map(kindOf))] };
  }
  return undefined;
}

/** Everything in any order, and each may die at each of its steps. Then nothing more comes, and all that is left is done. */
function playOnce(seed: number, server: Server, rules: Rules): readonly string[] {
  const world = new World(seed, server, rules);
  const events = Array.from({ length: EVENTS }, (_, i) => {
    const webhooks = WEBHOOKS.slice(0, 1 + world.chance(WEBHOOKS.length));
    publish(world, `e${i}`, webhooks);
    return [`e${i}`, webhooks] as const;
  });
  const actors: Actor[] = [];
  for (let step = 0; step < STEPS; step += 1) {
    const choice = world.chance(20);
    const [event, webhooks] = events[world.chance(EVENTS)] ?? ['', []];
    const delivery = world.oneOf(world.published) ?? '';
    if (choice < 6) actors.push(work(world));
    else if (choice < 11) actors.push(move(world));
    else if (choice === 11) lookFor(world, delivery);
    else if (choice === 12) actors.push(redeliver(world, delivery));
    else if (choice === 13 && world.chance(6) === 0) actors.push(erase(world, event, webhooks));
    else if (choice === 14) world.now += world.chance(8) === 0 ? world.chance(120) : world.chance(6);
    else if (choice === 15 && world.chance(3) === 0) actors.splice(world.chance(actors.length), 1);
    for (let i = 0; i < 2 && actors.length > 0; i += 1) {
      const at = world.chance(actors.length);
      if (actors[at]?.next().done) actors.splice(at, 1);
    }
  }
  finish(world);
  return world.faults;
}

/** A reader asks Redis, and then PostgreSQL. */
function lookFor(world: World, delivery: string): void {
  if (world.logOf(delivery) || world.isListed(delivery) || world.movedLogs.has(delivery)) return;
  world.faults.push(`${delivery} is nowhere`);
}

function finish(world: World): void {
  // Whoever was at work has died. Workers and movers begin again.
  for (let i = 0; i < 400; i += 1) {
    world.now += 5;
    for (const actor of [work(world), work(world), move(world)]) for (const _ of actor);
    if (isAtRest(world)) break;
  }
  world.now += LAPSES_AFTER + 1;
  for (const delivery of world.published) judgeDelivery(world, delivery);
  for (const [request, delivery] of world.requests) judgeRequest(world, request, delivery);
  for (const event of world.erased) judgeErased(world, event);
  for (const key of world.redis.keys()) {
    if (world.redis.timeLeft(key) <= RETENTION) world.faults.push(`${key} is left in Redis`);
  }
  for (const delivery of world.redis.ended.keys()) world.faults.push(`${delivery} is left in the list`);
}

function isAtRest({ redis }: World): boolean {
  return redis.ended.size === 0 && !redis.keys().some((key) => key.startsWith('job:'));
}

function judgeDelivery(world: World, delivery: string): void {
  const log = world.movedLogs.get(delivery);
  const moved = new Set(log?.lines.map(({ id }) => id));
  if (!log) world.faults.push(`${delivery} has not moved`);
  else if (isOpen(log)) world.faults.push(`${delivery} is open in PostgreSQL`);
  const isLost = world.recorded.get(delivery)?.some((id) => !moved.has(id));
  if (isLost) world.faults.push(`${delivery} has lost a line`);
}

function judgeRequest(world: World, request: number, delivery: string): void {
  const lines = world.movedLogs.get(delivery)?.lines ?? [];
  const at = lines.findIndex((line) => line.request === request);
  if (at < 0) world.faults.push(`${delivery} has lost a request`);
  else if (!lines.slice(at + 1).some(({ kind }) => kind !== 'requested')) {
    world.faults.push(`${delivery} was requested and not sent`);
  }
}

function judgeErased(world: World, event: string): void {
  const isThere = world.movedEvents.get(event)?.body ?? world.eventOf(event)?.body;
  if (isThere !== undefined) world.faults.push(`${event} was erased and has its payload`);
  for (const [delivery, { lines }] of world.movedLogs) {
    const hasResponse = delivery.startsWith(`${event}.`) && lines.some(({ response }) => response);
    if (hasResponse) world.faults.push(`${delivery} was erased and has a response`);
  }
}

function kindOf(fault: string): string {
  return fault.replace(/^\S+ /, '');
}
