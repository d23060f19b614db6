import {
  CLAIMED_FOR,
  type DeliveryName,
  isOpen,
  type Job,
  LAPSES_AFTER,
  type Line,
  type Log,
  partsOf,
  RETENTION,
  type StoredEvent,
  type World,
  withoutResponses,
} from './lapse-world';

/** At each `yield` others may go on, time may pass, and whoever does this may die. */
export type Actor = Generator<undefined, void>;

const LOCKED_FOR = 30;
const COMMITS_WITHIN = 8;
const AT_ONCE = 3;

export function publish(world: World, event: string, webhooks: readonly string[]): void {
  world.redis.set(`event:${event}`, { body: `body of ${event}` } satisfies StoredEvent, RETENTION);
  for (const webhook of webhooks) {
    const delivery = `${event}.${webhook}`;
    world.addReceiver(delivery);
    world.enlist(delivery);
    world.redis.add('events', event);
    world.redis.set(`job:${delivery}`, { request: undefined, lockedUntil: 0, owner: 0 } satisfies Job);
    world.published.push(delivery);
  }
}

/** Takes a job and makes an attempt, which may be answered long after the job was lost to another worker. */
export function* work(world: World): Actor {
  const { redis } = world;
  const waiting = redis.keys().filter((key) => key.startsWith('job:'));
  const idle = waiting
    .map((key) => key.slice('job:'.length))
    .filter((each) => {
      return (world.jobOf(each)?.lockedUntil ?? 0) <= world.now;
    });
  const delivery = world.oneOf(idle);
  const job = delivery === undefined ? undefined : world.jobOf(delivery);
  if (delivery === undefined || job === undefined) return;
  const key = `job:${delivery}`;
  const { event } = partsOf(delivery);
  const owner = world.newId();
  redis.set(key, { ...job, lockedUntil: world.now + LOCKED_FOR, owner });
  const isOwner = () => world.jobOf(delivery)?.owner === owner;
  yield;

  for (let tries = 0; tries < 6; tries += 1) {
    const log = world.logOf(delivery);
    const payload = world.eventOf(event);
    const length = log?.lines.length ?? 0;
    if (job.request !== undefined && !log?.lines.some(({ request }) => request === job.request)) {
      // Another one may have recorded it meanwhile.
      if ((yield* recordRequest(world, delivery, length, job.request)) || !world.lapses(delivery)) continue;
    }
    if (log && !isOpen(log)) {
      redis.ended.set(delivery, world.now);
      if (isOwner()) redis.delete(key);
      return;
    }
    if (payload === undefined) {
      if (!isOwner()) return;
      world.faults.push(`${delivery} has no payload`);
      redis.delete(key);
      return;
    }
    yield;
    for (let waits = world.chance(3); waits > 0; waits -= 1) yield;

    const line = attemptOf(world, event, payload);
    const isGone = !log && !world.isListed(delivery);
    if (!isGone && world.append(delivery, length, line)) {
      if (line.kind !== 'retried') {
        if (world.server === 'a Cluster') yield;
        redis.ended.set(delivery, world.now);
        if (world.server === 'a Cluster') yield;
      }
      if (!isOwner()) return;
      if (line.kind === 'retried') redis.set(key, { ...job, lockedUntil: 0, owner: 0 });
      else redis.delete(key);
      return;
    }
    if (isOwner()) continue;
    const now = world.logOf(delivery);
    if (!now || isOpen(now)) return;
    // As it is in the list, it comes again to be written with this line.
    world.append(delivery, now.lines.length, { ...line, kind: 'late' });
    return;
  }
}

function attemptOf(world: World, event: string, { body }: StoredEvent): Line {
  const id = world.newId();
  if (body === undefined) return { id, kind: 'cancelled' };
  const kind = world.chance(4) === 0 ? 'retried' : 'attempted';
  return { id, kind, response: `response to ${event}` };
}

interface Read {
  readonly delivery: DeliveryName;
  readonly log: Log | undefined;
  readonly event: StoredEvent | undefined;
}

/** Writes what has ended to PostgreSQL, and lets Redis' copies lapse. */
export function* move(world: World): Actor {
  const { redis, rules } = world;
  const startedAt = world.now;
  const due = [...redis.ended].filter(([, at]) => at <= startedAt).slice(0, AT_ONCE);
  const claim = startedAt + CLAIMED_FOR + world.newId() / 1_000_000;
  for (const [delivery] of due) redis.ended.set(delivery, claim);
  yield;
  const read = due.map(([delivery]): Read => {
    const event = world.eventOf(partsOf(delivery).event);
    const log = world.logOf(delivery);
    return { delivery, log, event: event && { ...event } };
  });
  yield;
  const moving = read.filter(({ log, event }) => log && event && !isOpen(log));
  if (!rules.commitsFirst) yield* lapseAll(world, moving, claim);
  if (moving.length > 0) {
    for (let waits = world.chance(3); waits > 0; waits -= 1) yield;
    if (world.now > startedAt + COMMITS_WITHIN) return;
    for (const each of moving) commit(world, each);
    yield;
  }
  yield* lapseAll(world, read, claim);
}

function commit(world: World, { delivery, log, event }: Read): void {
  if (!log || !event) return;
  const { event: name } = partsOf(delivery);
  const known = world.movedEvents.get(name);
  if (!known) world.movedEvents.set(name, { ...event });
  else if (event.body === undefined) known.body = undefined;
  const before = world.movedLogs.get(delivery);
  const lines = new Map([...(before?.lines ?? []), ...log.lines].map((line) => [line.id, line]));
  const merged: Log = { isErased: false, lines: [...lines.values()].toSorted((a, b) => a.id - b.id) };
  const isErased = log.isErased || before?.isErased === true;
  world.movedLogs.set(delivery, isErased ? withoutResponses(merged) : merged);
}

function* lapseAll(world: World, read: readonly Read[], claim: number): Actor {
  const { redis, rules } = world;
  for (const each of read) {
    const { delivery } = each;
    const isDone = yield* lapseOrFinish(world, each);
    if (redis.ended.get(delivery) !== claim) continue;
    if (isDone || !rules.comesAgain) redis.ended.delete(delivery);
    else redis.ended.set(delivery, world.now + 5);
  }
}

/** Gives whether there is nothing more to do. */
function* lapseOrFinish(world: World, read: Read): Generator<undefined, boolean> {
  const { delivery, log, event } = read;
  if (log === undefined) return yield* finish(world, delivery);
  // Its next end comes to the list again. Of one whose event is gone, there is nothing to write.
  if (isOpen(log) || event === undefined) return true;
  return yield* lapse(world, read);
}

/** One server does all of it at once, a Cluster by the tags of the keys. Gives whether it lapses. */
function* lapse(world: World, { delivery, log, event }: Read): Generator<undefined, boolean> {
  const { redis, rules } = world;
  const { event: name, webhook } = partsOf(delivery);
  const isCluster = world.server === 'a Cluster';
  if (rules.waitsForJob && redis.get(`job:${delivery}`)) return false;
  if (!isCluster && redis.get(`reopened:${name}`)) return false;
  if (isCluster) yield;
  const now = world.logOf(delivery);
  if (!log || !now) return yield* finish(world, delivery);
  if (redis.get(`reopened:${delivery}`)) return false;
  if (rules.comparesLength && now.lines.length !== log.lines.length) return false;
  if (rules.comparesErasure && now.isErased !== log.isErased) return false;
  redis.expire(`log:${delivery}`, LAPSES_AFTER);
  redis.remove(`list:${webhook}`, name);
  if (isCluster) yield;
  return yield* release(world, delivery, event);
}

/** The part of a log that is gone. */
function* finish(world: World, delivery: DeliveryName): Generator<undefined, boolean> {
  if (world.isListed(delivery) || world.redis.get(`job:${delivery}`)) return true;
  if (world.server === 'a Cluster') yield;
  return yield* release(world, delivery, world.eventOf(partsOf(delivery).event));
}

function* release(
  world: World,
  delivery: DeliveryName,
  read: StoredEvent | undefined,
): Generator<undefined, boolean> {
  const { redis, rules } = world;
  const { event, webhook } = partsOf(delivery);
  if (redis.get(`reopened:${event}`)) return false;
  redis.remove(`receivers:${event}`, webhook);
  const hasOthers = redis.members(`receivers:${event}`) !== undefined;
  if (hasOthers && rules.keepsEventForOthers) return true;
  const now = world.eventOf(event);
  const isChanged = (now?.body === undefined) !== (read?.body === undefined);
  if (now && rules.comparesErasure && isChanged) return false;
  redis.expire(`event:${event}`, LAPSES_AFTER);
  if (world.server === 'a Cluster') yield;
  redis.remove('events', event);
  return true;
}

/** Sends once more what has ended, wherever it is. Others are told in Redis that it may not lapse now. */
export function* redeliver(world: World, delivery: DeliveryName): Actor {
  const { redis, rules } = world;
  const { event } = partsOf(delivery);
  if (world.erased.has(event)) return;
  mark(world, delivery);
  const reopenedAt = world.now;
  const log = world.logOf(delivery);
  const isHere = world.eventOf(event) && world.isListed(delivery);
  if (isHere && isOpen(log)) return;
  yield;
  if (!isHere) {
    const movedEvent = world.movedEvents.get(event);
    const movedLog = world.movedLogs.get(delivery);
    if (!movedEvent) return;
    const read = { event: { ...movedEvent }, log: movedLog && { ...movedLog } };
    yield;
    putBack(world, delivery, read);
    yield;
    if (world.movedEvents.get(event)?.body === undefined) eraseInRedis(world, event, [delivery]);
  }
  if (rules.addsJobInTime && world.now > reopenedAt + LAPSES_AFTER / 2) return;
  const request = world.newId();
  if (redis.get(`job:${delivery}`)) return;
  redis.set(`job:${delivery}`, { request, lockedUntil: 0, owner: 0 } satisfies Job);
  yield;
  const now = world.logOf(delivery);
  if (!now?.lines.some((line) => line.request === request)) {
    if (world.jobOf(delivery)?.request !== request) return;
    if (!(yield* recordRequest(world, delivery, now?.lines.length ?? 0, request))) return;
  }
  // Now it is answered: 202.
  world.requests.set(request, delivery);
}

/** The list gets it together with its line: later it may have ended, and lapse. */
function* recordRequest(
  world: World,
  delivery: DeliveryName,
  length: number,
  request: number,
): Generator<undefined, boolean> {
  world.addReceiver(delivery);
  if (world.server === 'a Cluster') yield;
  const isRecorded = world.append(delivery, length, { id: world.newId(), kind: 'requested', request });
  if (isRecorded) world.enlist(delivery);
  yield;
  return isRecorded;
}

function mark({ redis, rules }: World, delivery: DeliveryName): void {
  if (!rules.marksWhatIsReopened) return;
  redis.set(`reopened:${partsOf(delivery).event}`, true, LAPSES_AFTER);
  redis.set(`reopened:${delivery}`, true, LAPSES_AFTER);
}

interface PutBack {
  readonly event: StoredEvent;
  readonly log: Log | undefined;
}

function putBack(world: World, delivery: DeliveryName, { event, log }: PutBack): void {
  const { redis } = world;
  const { event: name } = partsOf(delivery);
  mark(world, delivery);
  if (world.rules.listsWhatIsPutBack) redis.ended.set(delivery, world.now);
  if (world.eventOf(name)) redis.expire(`event:${name}`, RETENTION);
  else redis.set(`event:${name}`, event, RETENTION);
  if (world.logOf(delivery)) redis.expire(`log:${delivery}`, RETENTION);
  else if (log) redis.set(`log:${delivery}`, log, RETENTION);
  redis.add('events', name);
  world.addReceiver(delivery);
  world.enlist(delivery);
}

/** Erases the payload of an event, and the responses to it. */
export function* erase(world: World, event: string, webhooks: readonly string[]): Actor {
  const deliveries = webhooks.map((webhook) => `${event}.${webhook}`);
  const { redis } = world;
  eraseInRedis(world, event, []);
  yield;
  const receivers = deliveries.filter((each) => redis.has(`receivers:${event}`, partsOf(each).webhook));
  eraseInRedis(world, event, receivers);
  yield;
  const moved = world.movedEvents.get(event);
  if (moved) moved.body = undefined;
  for (const delivery of deliveries) {
    const log = world.movedLogs.get(delivery);
    if (log) world.movedLogs.set(delivery, withoutResponses(log));
  }
  yield;
  eraseInRedis(world, event, world.rules.erasesWhatLapses ? deliveries : []);
  world.erased.add(event);
  for (const delivery of deliveries) {
    const isReadable = world.logOf(delivery)?.lines.some(({ response }) => response);
    if (isReadable && world.lapses(delivery))
      world.faults.push(`${delivery} lapses with a response that was erased`);
  }
}

function eraseInRedis(world: World, event: string, deliveries: readonly DeliveryName[]): void {
  const { redis } = world;
  const payload = world.eventOf(event);
  if (payload) payload.body = undefined;
  for (const delivery of deliveries) {
    const log = world.logOf(delivery);
    // It is marked, so that its responses to come are left out.
    const isListed = world.isListed(delivery);
    const left = log ? redis.timeLeft(`log:${delivery}`) : RETENTION;
    if (log || isListed)
      redis.set(`log:${delivery}`, withoutResponses(log ?? { lines: [], isErased: true }), left);
  }
}
