/** What the harness itself has seen: the facts that every check is made from. Times: milliseconds since the epoch. */

/** An event that was sent to the service. Its marker is in its data, so that it is known whatever its id became. */
export interface PublishedEvent {
  readonly marker: string;
  readonly type: string;
  /** It is sent after the acknowledgement of the one before in its group. Absent: it belongs to none. */
  readonly group?: string;
  /** Just before it was sent for the first time. */
  readonly madeAt: number;
}

/** One whose 2xx was seen, as read back from the file on disk. */
export interface AcknowledgedEvent extends PublishedEvent {
  /** Missing for what was pushed onto the queue without an id. */
  readonly id?: string | undefined;
  readonly acknowledgedAt: number;
}

/** An event in a request at a receiver. */
export interface ReceivedRequest {
  readonly endpoint: string;
  /** That of the request: others that came in it have the same. */
  readonly requestId: string;
  readonly eventId: string;
  readonly marker: string;
  readonly type: string;
  readonly attempt: number;
  readonly arrivedAt: number;
  /** When its response was sent, or its connection broke. */
  readonly endedAt: number;
  /** Null: its connection broke before its response. */
  readonly status: number | null;
  readonly isVerified: boolean;
  readonly bodyHash: string;
}

/** A fault as it was injected. */
export interface InjectedFault {
  readonly kind: string;
  readonly victim: string;
  readonly startedAt: number;
  /** From when on nothing is withheld any more. For a kill, the moment of the kill. */
  readonly endedAt: number;
  /** Whether an attempt that it hit may have to be made again. */
  readonly mayRepeat: boolean;
  /** Whether it is one of several strikes of the same fault, and not the first of them. */
  readonly isFurtherStrike?: boolean;
}

/** A delivery that was asked to be sent once more. */
export interface Resend {
  readonly eventId: string;
  readonly endpoint: string;
  readonly askedAt: number;
  /** Whether that got 2xx. If not, it may happen or not. */
  readonly isAcknowledged: boolean;
}

/** A delivery as the API lists it. */
export interface RecordedDelivery {
  readonly endpoint: string;
  readonly eventId: string;
  readonly status: string;
  readonly attemptCount: number;
}

export interface Ledger {
  readonly published: ReadonlyMap<string, PublishedEvent>;
  readonly acknowledged: ReadonlyMap<string, AcknowledgedEvent>;
  readonly requests: readonly ReceivedRequest[];
  readonly faults: readonly InjectedFault[];
  readonly resends: readonly Resend[];
  readonly recorded: readonly RecordedDelivery[];
}

/** An event and an endpoint that is to get it. */
export function pairOf({ marker, endpoint }: { readonly marker: string; readonly endpoint: string }): string {
  return `${marker} at ${endpoint}`;
}

/** The first one of each request, whatever else came in it. */
export function eachRequest(requests: readonly ReceivedRequest[]): readonly ReceivedRequest[] {
  const seen = new Set<string>();
  return requests.filter(({ requestId }) => !seen.has(requestId) && seen.add(requestId));
}

export function isAccepted({ status }: { readonly status: number | null }): boolean {
  return status !== null && status >= 200 && status <= 299;
}

/** The requests of each pair, in the order of arrival. */
export function groupByPair(requests: readonly ReceivedRequest[]): Map<string, ReceivedRequest[]> {
  const groups = new Map<string, ReceivedRequest[]>();
  for (const request of [...requests].sort((a, b) => a.arrivedAt - b.arrivedAt)) {
    const pair = pairOf(request);
    const group = groups.get(pair);
    if (group) group.push(request);
    else groups.set(pair, [request]);
  }
  return groups;
}
