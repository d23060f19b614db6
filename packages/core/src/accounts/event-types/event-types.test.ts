import { listNames } from './event-types';

const names = Array.from({ length: 52 }, (_, i) => `type.${i}`);

it('names all of 50', () => {
  expect(listNames(names.slice(0, 50))).toBe(names.slice(0, 50).join(', '));
});

it('names 50 of more, and says how many there are besides', () => {
  expect(listNames(names)).toMatch(/^type\.0, .*, type\.49 and 2 more, which GET \/v1\/event-types lists$/);
});
