import { z } from 'zod';
import { eventTypeNameSchema } from '../../domain/event';
import { textSchema } from '../../platform/zod-words';

/** Longer schemas are refused: they are compiled in every process. */
const MAX_SCHEMA_CHARACTERS = 32 * 1024;

/** Deeper data, schemas and examples have no use, and exhaust the stack of code that walks them. */
export const MAX_DEPTH = 100;

const shallowSchema = z
  .unknown()
  .refine((value) => isWithin(value, MAX_DEPTH), `is more than ${MAX_DEPTH} levels deep`);

/** An operator's input for an event type. */
export const eventTypeInputSchema = z
  .strictObject({
    description: textSchema(1_000)
      .min(1)
      .describe('What has happened when such an event is published, for people. At most 1,000 characters.'),
    schema: shallowSchema
      .pipe(
        z.union(
          [z.boolean(), z.record(z.string(), z.json())],
          'must be a JSON Schema: an object, true or false',
        ),
      )
      .refine(
        (schema) => JSON.stringify(schema).length <= MAX_SCHEMA_CHARACTERS,
        `must have at most ${MAX_SCHEMA_CHARACTERS} characters`,
      )
      .meta({ type: ['object', 'boolean'], additionalProperties: true })
      .describe(
        `The schema of \`data\`: JSON Schema 2020-12, of at most ${MAX_SCHEMA_CHARACTERS} characters as JSON.`,
      ),
    example: shallowSchema.pipe(z.json()).describe('An example of `data`, which must match the schema.'),
    deprecated: z
      .boolean()
      .default(false)
      .describe(
        'Whether new producers should not use the type. Its events are still accepted. Default: `false`.',
      ),
  })
  .meta({ id: 'EventTypeInput' });
export type EventTypeInput = z.infer<typeof eventTypeInputSchema>;

/** An event type that an operator added: JSON in one field of the hash of all of them. */
export const customEventTypeSchema = eventTypeInputSchema.extend({
  name: eventTypeNameSchema,
  /** 1, and one more with each replacement. */
  version: z.number(),
  /** Milliseconds since the Unix epoch. */
  updatedAt: z.number(),
});
export type CustomEventType = Readonly<z.infer<typeof customEventTypeSchema>>;

function isWithin(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return true;
  return levels > 0 && Object.values(value).every((member) => isWithin(member, levels - 1));
}
