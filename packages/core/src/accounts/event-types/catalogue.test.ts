import { z } from 'zod';
import { catalogue } from './built-in';

describe('catalogue', () => {
  it('has no two event types of one name', () => {
    expect(new Set(catalogue.map(({ name }) => name)).size).toBe(catalogue.length);
  });

  it.each(catalogue.map((eventType) => [eventType.name, eventType] as const))(
    '%s has a dotted name, a description, a valid example and a JSON Schema that forbids unknown members',
    (name, { description, data, example }) => {
      expect(name).toMatch(/^[a-z]+(_[a-z]+)*(\.[a-z]+(_[a-z]+)*)+$/);
      expect(description).toMatch(/^\S.*\.$/);
      expect(data.parse(example)).toEqual(example);
      expect(z.toJSONSchema(data)).toMatchObject({ type: 'object', additionalProperties: false });
    },
  );

  it.each(
    catalogue.flatMap(({ name, data }) =>
      Object.entries(data.shape).map(([member, schema]) => [name, member, schema] as const),
    ),
  )('%s says what its member %s is', (_name, _member, schema: z.ZodType) => {
    expect(schema.description).toMatch(/^\S.*\.$/);
  });
});
