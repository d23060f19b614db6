/** What the signature vouches for besides the body. `X-Service-Signature` covers neither. */
export interface SignedHeaders {
  /** Of the request (`webhook-id`): the same on every attempt. It is the event's id, unless the request has several. */
  readonly id?: string;
  /** When this attempt was signed (`webhook-timestamp`), in whole seconds since the Unix epoch. */
  readonly timestamp?: number;
}

/** An event of the type `Type`, whichever format its request had. */
export interface EventOf<Events extends object, Type extends keyof Events> {
  /**
   * The same on every attempt, and on its own in a request with several events. Missing only where nothing that is signed
   * has it: with `X-Service-Signature` alone, which covers no header.
   */
  readonly id?: string;
  /** When its request was signed (`webhook-timestamp`), in whole seconds since the Unix epoch. */
  readonly timestamp?: number;
  readonly type: Type;
  readonly data: Events[Type];
  /** When the service accepted it (RFC 3339), where the request says so: all formats but the usual one. */
  readonly acceptedAt?: string;
  /** All attributes, if it came as a CloudEvent. */
  readonly cloudEvent?: CloudEventAttributes;
}

/** The attributes of a CloudEvent, by their names there. */
export interface CloudEventAttributes {
  readonly specversion: string;
  readonly id: string;
  readonly source: string;
  readonly type: string;
  readonly time?: string;
  readonly subject?: string;
  readonly datacontenttype?: string;
  readonly dataschema?: string;
  readonly partitionkey?: string;
  readonly [extension: string]: unknown;
}

/**
 * An event that was verified. `Events` says what `data` is for each `type`, and makes this a union that `type` tells
 * apart; it is not checked here. Without it `type` is any string and `data` unknown.
 */
export type WebhookEvent<Events extends object = Record<string, unknown>> = {
  [Type in keyof Events & string]: EventOf<Events, Type>;
}[keyof Events & string];

/** What was in a request that was verified. */
export interface VerifiedRequest<Events extends object = Record<string, unknown>> {
  /** One, or several in the order in which the service accepted them. */
  readonly events: readonly WebhookEvent<Events>[];
  /**
   * Whether the request is a list, also of one event. Then 2xx takes all of them, or, with `{"failed": [ids]}` as its body,
   * all but those.
   */
  readonly isBatch: boolean;
}
