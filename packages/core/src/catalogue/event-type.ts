import type { z } from 'zod';

/** What is published under a name, and what receivers can rely on. */
export interface EventType<Name extends string = string, Data extends z.ZodType = z.ZodType> {
  /** Dotted, lower case: `<noun>.<what happened>`. */
  readonly name: Name;
  /** Raised by this service itself, and delivered only to endpoints that ask for it by more than `*`. */
  readonly isOperational?: true;
  readonly description: string;
  readonly data: Data;
  readonly example: z.input<Data>;
}

export function defineEventType<const Name extends string, Data extends z.ZodType>(
  definition: EventType<Name, Data>,
): EventType<Name, Data> {
  return definition;
}
