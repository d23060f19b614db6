import { type AcceptedEvent, idConflict, publishedAtOf } from '../domain/event';
import { digestOf, isOfDigest, type SentState } from '../events/redis-moved-ids';
import { AppError } from '../platform/app-error';
import { together } from '../platform/redis-atomic';
import type { Step } from '../platform/redis-script';
import type { Premise, PublishingParts } from './publishing-parts';
import type { EventClaim } from './redis-event-claim-store';

/** An event on its way, before it is dispatched. */
export interface Candidate {
  readonly event: AcceptedEvent;
  /** Whether the client chose its id. */
  readonly hasOwnId: boolean;
  /** The state of the claim of that id. */
  readonly claimState?: EventClaim['state'];
}

interface ClaimedId {
  readonly candidate: Candidate;
  readonly claim: EventClaim;
  /** The history has its event: this claim is to go. */
  readonly isMoved: boolean;
}

const NO_CLAIMS: ReadonlyMap<Candidate, EventClaim> = new Map();

/**
 * Claim all ids that clients chose, in one step.
 *
 * @returns the claims of the events that have such an id.
 * @throws NoLongerTrue when the assumption does not hold.
 */
export async function claimIds(
  parts: PublishingParts,
  candidates: readonly (Candidate | AppError)[],
  { assumption }: Premise,
): Promise<ReadonlyMap<Candidate, EventClaim>> {
  const claimable = candidates.filter(isClaimable);
  if (claimable.length === 0) return NO_CLAIMS;
  const [claimed] = await (assumption ?? parts).atomic([
    together(claimable.map((candidate) => claimId(parts, candidate))),
  ]);
  const alreadyMoved = claimed.filter(({ isMoved }) => isMoved);
  await takeBack(
    parts,
    alreadyMoved.map(({ candidate }) => candidate.event),
  );
  return new Map(claimed.map(({ candidate, claim }) => [candidate, claim]));
}

function claimId({ eventClaims, movedIds }: PublishingParts, candidate: Candidate): Step<ClaimedId> {
  const { event } = candidate;
  const digest = digestOf(event.body, event.endpointIds);
  const toClaim = eventClaims.claim(event, digest);
  const toLook = movedIds?.look(event.accountId, event.id, publishedAtOf(event));
  return async (target) => {
    // Both fail when Redis is down. An unhandled rejection would end the process.
    const [claim, sentState] = await Promise.all([toClaim(target), toLook?.(target)]);
    if (sentState === undefined) return { candidate, claim, isMoved: false };
    return {
      candidate,
      claim: claimAgainstHistory(event, sentState, claim, digest),
      isMoved: sentState.moved !== undefined && claim.state === 'open',
    };
  };
}

// The history has these events. Redis keeps their ids for as long as ids are known.
async function takeBack(
  { eventClaims }: PublishingParts,
  alreadyMoved: readonly AcceptedEvent[],
): Promise<void> {
  await Promise.all(
    alreadyMoved.map((event) => eventClaims.takeBack(event, digestOf(event.body, event.endpointIds))),
  );
}

// An event that is complete is not dispatched again: deliveries of it may have moved to the history.
function claimAgainstHistory(
  { body }: AcceptedEvent,
  { isListed, moved }: SentState,
  claim: EventClaim,
  digest: string,
): EventClaim {
  if (!moved) return isListed && claim.state === 'open' ? { ...claim, state: 'queued' } : claim;
  const own = moved.kind === 'claimed' ? digest : digestOf(body);
  return isOfDigest(moved, own) ? { state: 'queued', acceptedAt: moved.acceptedAt } : { state: 'taken' };
}

function isClaimable(candidate: Candidate | AppError): candidate is Candidate {
  return !(candidate instanceof AppError) && candidate.hasOwnId;
}

/**
 * The same event as it was accepted first, if its id is known.
 *
 * @throws AppError `event_id_conflict` when the id belongs to another event.
 */
export async function applyClaim(
  parts: PublishingParts,
  candidate: Candidate,
  claim: EventClaim | undefined,
): Promise<Candidate> {
  if (claim === undefined) return candidate;
  const { event } = candidate;
  switch (claim.state) {
    case 'open':
    case 'queued':
      return { ...candidate, event: await withFirstTime(parts, event, claim), claimState: claim.state };
    case 'stored':
      return { ...candidate, event: await sameAsStored(parts, event), claimState: 'stored' };
    case 'taken':
      throw idConflict(event.id);
  }
}

// An event that was published before with this id keeps its time, even if this request names another.
async function withFirstTime(
  { eventStore }: PublishingParts,
  event: AcceptedEvent,
  { state, acceptedAt }: Extract<EventClaim, { acceptedAt: number }>,
): Promise<AcceptedEvent> {
  const { schedule, ...atOnce } = event;
  if (schedule === undefined) return { ...event, acceptedAt };
  if (state === 'open') return { ...event, schedule: { ...schedule, publishedAt: acceptedAt } };
  const head = await eventStore.findHead(event.accountId, event.id);
  return head?.schedule
    ? { ...event, acceptedAt: head.acceptedAt, schedule: head.schedule }
    : { ...atOnce, acceptedAt };
}

async function sameAsStored({ eventStore }: PublishingParts, event: AcceptedEvent): Promise<AcceptedEvent> {
  const stored = await eventStore.find(event.accountId, event.id);
  if (stored?.body === undefined || stored.body !== event.body) throw idConflict(event.id);
  return stored;
}

const NONE: ReadonlySet<Candidate> = new Set();

/** Gives the candidates whose ids this call marked first. */
export async function markQueued(
  { eventClaims, atomic }: PublishingParts,
  candidates: readonly (Candidate | AppError)[],
): Promise<ReadonlySet<Candidate>> {
  const open = candidates.filter(isClaimable).filter(({ claimState }) => claimState === 'open');
  if (open.length === 0) return NONE;
  const [isFirst] = await atomic([
    together(open.map(({ event: { accountId, id } }) => eventClaims.markQueued(accountId, id))),
  ]);
  return new Set(open.filter((_candidate, i) => isFirst[i]));
}
