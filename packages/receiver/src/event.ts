/** The signed facts besides the body. `X-Service-Signature` covers neither of them. */
export interface SignedHeaders {
  /** Of the request (`webhook-id`): the same on every attempt. It is the event's id, unless the request has several. */
  readonly id?: string;
  /** When this attempt was signed (`webhook-timestamp`), in whole seconds since the Unix epoch. */
  readonly timestamp?: number;
}

/** An event of the type `Type`, whichever format its request had. */
export interface EventOf<Events extends object, Type extends keyof Events> {
  /**
   * The id of the event: the same on every attempt. Missing only if no signed part of the request has it: with
   * `X-Service-Signature` alone, which covers no header.
   */
  readonly id?: string;
  /** When its request was signed (`webhook-timestamp`), in whole seconds since the Unix epoch. */
  readonly timestamp?: number;
  readonly type: Type;
  readonly data: Events[Type];
  /** When the service accepted the event (RFC 3339). The format `native` does not have it. */
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
 * A verified event. `Events` declares the type of `data` for each `type`, and makes this a union that `type` discriminates.
 * It is not checked at run time. Without `Events`, `type` is any string and `data` unknown.
 */
export type WebhookEvent<Events extends object = Record<string, unknown>> = {
  [Type in keyof Events & string]: EventOf<Events, Type>;
}[keyof Events & string];

/** The content of a verified request. */
export interface VerifiedRequest<Events extends object = Record<string, unknown>> {
  /** One event, or several in the order in which the service accepted them. */
  readonly events: readonly WebhookEvent<Events>[];
  /**
   * Whether the request is a list, also of one event. A 2xx then accepts all its events. With the body `{"failed": [ids]}`
   * it accepts all others.
   */
  readonly isBatch: boolean;
}
