import { z } from 'zod';

export type Json = Readonly<Record<string, unknown>>;

/** Collects the named schemas of a document while its parts are written. */
export class Components {
  readonly schemas: Record<string, unknown> = {};

  /** What a client may send. Where the schema transforms, this is its state before. */
  ofRequest(schema: z.ZodType): Json {
    return this.#convert(schema, 'input');
  }

  /** What is answered. */
  ofResponse(schema: z.ZodType): Json {
    return this.#convert(schema, 'output');
  }

  // Inside of another one, also a schema with a name of its own becomes a reference.
  #convert(schema: z.ZodType, io: 'input' | 'output'): Json {
    const converted = z.toJSONSchema(z.object({ schema }), { io, override: simplify });
    const { $defs = {}, properties } = pointIntoComponents(converted);
    Object.assign(this.schemas, $defs);
    return properties.schema;
  }
}

// zod's pattern of a time is 200 characters long and says no more than the format; `readOnly` would mean that a client
// must not send it, and not that nobody changes it.
function simplify({ jsonSchema }: { readonly jsonSchema: z.core.JSONSchema.BaseSchema }): void {
  if (jsonSchema.format === 'date-time') delete jsonSchema.pattern;
  delete jsonSchema.readOnly;
}

interface Converted {
  readonly $defs?: Readonly<Record<string, unknown>>;
  readonly properties: { readonly schema: Json };
}

function pointIntoComponents(schema: unknown): Converted {
  return JSON.parse(
    JSON.stringify(schema).replaceAll('"$ref":"#/$defs/', '"$ref":"#/components/schemas/'),
  ) as Converted;
}
