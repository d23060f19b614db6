import type { Attempt } from '../domain/attempt';
import type { JobEnd, MemberEnd } from '../domain/delivery';
import type { AttemptedFact } from '../domain/delivery-fact';
import type { EventId } from '../domain/event';
import type { LogLength } from '../events/redis-delivery-store';
import type { Step } from '../platform/redis-script';
import type { AttemptParts } from './open-delivery';
import {
  countAttempt,
  endAfter,
  factOf,
  leaveOrder,
  type RecordedAttempt,
  type RecordInput,
  recordOf,
  recordOrAddLate,
  stepsToHistory,
} from './record-attempt';
import type { AttemptEffect, AttemptRecord, OtherRecords, SharedRecord } from './redis-attempt-store';

export interface RecordTogetherInput {
  /**
   * Those of one request: one at least. The first one represents it: its record has the result for the receiver. Those that
   * have the same attempt, as an object, have the same decision, and are in the same round.
   */
  readonly inputs: readonly RecordInput[];
  /** Let go of their job in the same script as the records, if all of them are recorded by that. */
  readonly stepsToEnd: (ends: readonly MemberEnd[]) => readonly Step[];
}

const NONE_HAS_CHANGED: Step<readonly EventId[]> = async () => [];

/** The same attempt of several deliveries whose logs are of the same length: one line says it for all of them. */
interface Group {
  readonly fact: AttemptedFact;
  readonly logLength: LogLength;
  readonly end: JobEnd;
  readonly inputs: RecordInput[];
}

/**
 * Record the attempts of a request for several deliveries, each as if it had gone alone. One script records all of them
 * and lets go of their jobs. If the log of one has changed, that one is recorded by itself.
 *
 * @returns the result of each, by its event.
 */
export async function recordTogether(
  parts: AttemptParts,
  input: RecordTogetherInput,
): Promise<ReadonlyMap<EventId, RecordedAttempt>> {
  const recorded = new Map<EventId, RecordedAttempt>();
  const attempts = new Map(input.inputs.map((each) => [each.attempt, each]));
  // Made once: what is recorded again has the same line, by which its record is known.
  const facts = new Map([...attempts].map(([attempt, each]) => [attempt, factOf(parts, each)]));
  await recordAll(parts, input, facts, recorded);
  for (const [attempt, each] of attempts) {
    const same = input.inputs.filter((other) => other.attempt === attempt);
    countAttempt(parts, each, same.length);
  }
  return recorded;
}

type Facts = ReadonlyMap<Attempt, AttemptedFact>;

async function recordAll(
  parts: AttemptParts,
  input: RecordTogetherInput,
  facts: Facts,
  recorded: Map<EventId, RecordedAttempt>,
): Promise<void> {
  const { inputs } = input;
  const [representative, ...others] = inputs;
  if (representative === undefined) return;
  const groups = groupsOf(inputs, facts);
  const tried = await tryAll(parts, input, representative, groups, facts);
  const { effect, changed } = tried;
  // If its record is repeated with those of others, it has the same effect as the first time.
  const ownEffect = recorded.get(representative.ready.run.eventId)?.effect ?? effect;
  const unrecorded = new Set(effect ? changed : [representative.ready.run.eventId]);
  const noted = { ...tried, effect: ownEffect };
  if (effect) for (const group of groups) note(group, representative, noted, unrecorded, recorded);
  if (unrecorded.size === 0) return;
  for (const each of inputs) {
    const { ready } = each;
    if (!unrecorded.has(ready.run.eventId)) continue;
    const own = { ...each, isRepresented: each !== representative };
    const late = await recordOrAddLate(parts, own, factIn(facts, own), ready.logLength);
    recorded.set(ready.run.eventId, late);
  }
  const rest = effect ? inputs.filter(({ ready }) => !unrecorded.has(ready.run.eventId)) : others;
  await recordAll(parts, { inputs: rest, stepsToEnd: () => [] }, facts, recorded);
}

interface Tried {
  /** Of the representative. Absent: its log has changed, and none is recorded. */
  readonly effect: AttemptEffect | undefined;
  /** Those of the others whose logs have changed. Then no other one is recorded, and no job has ended. */
  readonly changed: readonly EventId[];
  /** Whether their end lets others of their group begin. */
  readonly letsOthersGo: boolean;
}

async function tryAll(
  parts: AttemptParts,
  { inputs, stepsToEnd }: RecordTogetherInput,
  representative: RecordInput,
  groups: readonly Group[],
  facts: Facts,
): Promise<Tried> {
  const record = recordOf(
    parts,
    representative,
    factIn(facts, representative),
    representative.ready.logLength,
  );
  const ofOthers = recordsOfOthers(parts, groups, representative, record);
  const ended = inputs.filter(({ decision }) => decision.kind !== 'retry').map(({ ready }) => ready.run);
  const { results, error } = await parts.atomic.tried([
    parts.attemptStore.record(record),
    ofOthers.records.length === 0 ? NONE_HAS_CHANGED : parts.attemptStore.recordOthers(ofOthers),
    leaveOrder(parts, representative.ready.endpoint, ended),
    ...stepsToHistory(parts, ended, record.now),
    ...stepsToEnd(groups.flatMap(endsOf)),
  ]);
  const [effect, changed, hasLetOthersGo] = results;
  const areAllRecorded = effect !== undefined && changed?.length === 0;
  // An error that keeps the jobs from ending does not undo the records. It is thrown again when the run ends.
  if (error !== undefined && !areAllRecorded) throw error;
  return { effect, changed: changed ?? [], letsOthersGo: hasLetOthersGo === true };
}

function groupsOf(inputs: readonly RecordInput[], facts: Facts): readonly Group[] {
  const groups = new Map<Attempt, Group[]>();
  for (const input of inputs) {
    const { attempt, decision, ready } = input;
    const same = groups.get(attempt) ?? [];
    if (same.length === 0) groups.set(attempt, same);
    const group = same.find(({ logLength }) => logLength === ready.logLength);
    if (group) group.inputs.push(input);
    else {
      const fact = factIn(facts, input);
      same.push({ fact, logLength: ready.logLength, end: endAfter(decision, attempt), inputs: [input] });
    }
  }
  return [...groups.values()].flat();
}

function factIn(facts: Facts, { attempt }: RecordInput): AttemptedFact {
  return facts.get(attempt) as AttemptedFact;
}

function recordsOfOthers(
  parts: AttemptParts,
  groups: readonly Group[],
  representative: RecordInput,
  { mustBeListed = false, now }: AttemptRecord,
): OtherRecords {
  const records: SharedRecord[] = [];
  const attemptKeys: string[] = [];
  for (const { fact, logLength, inputs } of groups) {
    const others = inputs.filter((input) => input !== representative);
    const [one] = others;
    if (one === undefined) continue;
    const { fact: written } = recordOf(parts, one, fact, logLength);
    const deliveries = others.map(({ ready: { run, event } }) => ({
      eventId: run.eventId,
      acceptedAt: event.acceptedAt,
    }));
    records.push({ fact: written, logLength, deliveries });
    for (const { attemptKey } of others) if (attemptKey !== undefined) attemptKeys.push(attemptKey);
  }
  return { endpointId: representative.ready.run.endpointId, records, attemptKeys, mustBeListed, now };
}

function endsOf({ end, inputs }: Group): readonly MemberEnd[] {
  return inputs.map(({ ready }) => ({ eventId: ready.run.eventId, end }));
}

function note(
  { fact: { nextAttemptAt }, inputs }: Group,
  representative: RecordInput,
  { effect, letsOthersGo }: Tried,
  unrecorded: ReadonlySet<EventId>,
  recorded: Map<EventId, RecordedAttempt>,
): void {
  for (const input of inputs) {
    const { eventId } = input.ready.run;
    if (unrecorded.has(eventId)) continue;
    recorded.set(eventId, {
      effect: input === representative ? effect : NO_EFFECT_OF_ITS_OWN,
      letsOthersGo,
      nextAttemptAt,
    });
  }
}

// The representative's record has it.
const NO_EFFECT_OF_ITS_OWN: AttemptEffect = {
  failures: 0,
  openedUntil: undefined,
  failingSince: undefined,
  hasClosed: false,
  recoveredFrom: undefined,
  isRateWaitedFor: false,
};
