import type { DeliveryRun } from '../domain/delivery';
import { signingKeyAt } from '../domain/signing-key';
import { CACHED_FOR_MS } from '../events/redis-event-store';
import { type Clock, steadyClock } from '../platform/clock';
import type { ReadyDelivery } from './load-delivery';
import type { AttemptParts } from './open-delivery';

/** Why a request may not begin. */
export type Refusal =
  /** Something that it is made of has changed: it has to be read again. */
  | 'changed'
  /** Another worker may be making this attempt by now. */
  | 'lost'
  /** It can't be said in time whether it may begin. */
  | 'late';

/** The longest time from the confirmation to the request. An erasure waits as long before it is confirmed. */
const BEGINS_WITHIN_MS = 2 * CACHED_FOR_MS;
const MOST_TRIES = 5;

/**
 * The one place that decides whether a request may begin: not if what it is made of was read too long ago and has changed
 * since, nor if its job is another worker's by now. The log, the event, the endpoint, its account's key and the lock of
 * the job are compared in one script. A request that has not waited, as most haven't, costs two looks at the clock.
 *
 * A wait that another process ends, such as that for an access token, is never measured: the clock of a virtual machine
 * stands still while that is suspended. After such a wait Redis is asked, however short it seems.
 */
export class Confirmation {
  #confirmedAt: number;
  #ownedUntil: number;
  #refusal: Refusal | undefined;

  /**
   * @param deliveries all deliveries that go in the request.
   * @param expiresAt until when what it carries is valid. Milliseconds since the Unix epoch.
   */
  constructor(
    private readonly parts: AttemptParts,
    private readonly deliveries: readonly ReadyDelivery[],
    private readonly expiresAt = Number.POSITIVE_INFINITY,
    private readonly now: Clock = steadyClock,
  ) {
    this.#confirmedAt = Math.min(
      ...deliveries.map(({ readAt, run }) => Math.min(readAt, run.takenAt ?? readAt)),
    );
    this.#ownedUntil = Math.min(...deliveries.map(({ run }) => run.ownedUntil));
  }

  /** Why the request may not begin, once that was said. */
  get refusal(): Refusal | undefined {
    return this.#refusal;
  }

  /** @param hasWaited see `DeliveryRequest`. @throws Error of Redis when it can't be reached. */
  readonly mayBegin = (hasWaited: boolean): boolean | Promise<boolean> => {
    const now = this.parts.clock();
    if (now >= this.expiresAt) return this.#refuse('late');
    const isFresh = this.now() - this.#confirmedAt < CACHED_FOR_MS && now < this.#ownedUntil;
    return (isFresh && !hasWaited) || this.#ask();
  };

  async #ask(): Promise<boolean> {
    for (let tries = 0; tries < MOST_TRIES; tries += 1) {
      const askedAt = this.now();
      const refusal = await findRefusal(this.parts, this.deliveries);
      if (refusal) return this.#refuse(refusal);
      this.#confirmedAt = askedAt;
      this.#ownedUntil = Number.POSITIVE_INFINITY;
      // Redis was slow, or this process stood still.
      if (this.now() - askedAt < BEGINS_WITHIN_MS) return true;
    }
    return this.#refuse('late');
  }

  #refuse(refusal: Refusal): false {
    this.#refusal = refusal;
    return false;
  }
}

// In one turn, so that one server gets all of it as one script.
async function findRefusal(
  parts: AttemptParts,
  deliveries: readonly ReadyDelivery[],
): Promise<Refusal | undefined> {
  const [areOurs, areUnchanged] = await Promise.all([
    Promise.all(deliveries.map(({ run }) => isOurs(parts, run))),
    Promise.all([
      isEndpointUnchanged(parts, deliveries),
      ...deliveries.map((each) => isUnchanged(parts, each)),
    ]),
  ]);
  if (!areOurs.every(Boolean)) return 'lost';
  return areUnchanged.every(Boolean) ? undefined : 'changed';
}

async function isOurs({ atomic, clock }: AttemptParts, { keepJob, ownedUntil }: DeliveryRun) {
  if (!keepJob) return clock() < ownedUntil;
  const [isKept] = await atomic([keepJob]);
  return isKept;
}

async function isUnchanged(
  { atomic, deliveryStore, eventStore }: AttemptParts,
  { run, logLength }: ReadyDelivery,
): Promise<boolean> {
  const { accountId, eventId } = run;
  const [length, head] = await atomic([deliveryStore.lengthOf(run), eventStore.headOf(accountId, eventId)]);
  const isThere = head !== undefined && head.erasedAt === undefined && head.schedule?.state !== 'cancelled';
  return isThere && length === logLength;
}

async function isEndpointUnchanged(
  { atomic, endpointStore, signingKeyStore, clock }: AttemptParts,
  deliveries: readonly ReadyDelivery[],
): Promise<boolean> {
  const [first, ...others] = deliveries;
  if (first === undefined) return true;
  const { endpoint, signer, run } = first;
  const { accountId, endpointId } = run;
  const [[current], signingKeys] = await Promise.all([
    atomic([endpointStore.stepToFind(accountId, endpointId)]),
    signer && signingKeyStore.find(accountId),
  ]);
  const kid = signingKeys && signingKeyAt(signingKeys, clock()).kid;
  return current === endpoint && kid === signer?.kid && others.every((each) => each.endpoint === endpoint);
}
