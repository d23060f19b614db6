import { z } from 'zod';
import { textSchema } from './text';

const schema = textSchema(3);

it('counts characters, and not the units that JavaScript stores them in', () => {
  expect(schema.parse('🦀🦀🦀')).toBe('🦀🦀🦀');
});

it.each(['abcd', '🦀🦀🦀🦀', 'a'.repeat(7)])('refuses %s, which has more', (text) => {
  expect(schema.safeParse(text).error?.issues).toMatchObject([{ message: 'must have at most 3 characters' }]);
});

it('says in its JSON Schema what it takes', () => {
  expect(z.toJSONSchema(schema)).toMatchObject({ type: 'string', maxLength: 3 });
});
