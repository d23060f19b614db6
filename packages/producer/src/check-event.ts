/** A fault of an event, as the API names it. */
export interface EventFault {
  /** The place of the fault in the event: a JSON Pointer, such as `/data/total`. */
  readonly pointer: string;
  /** The fault, such as `must be number`. */
  readonly detail: string;
}

/** Resolves with the faults of an event; none: it may be published. */
export type CheckEvent = (type: string, data: unknown) => Promise<readonly EventFault[]>;
