import { jsonPointer, shorten } from './app-error';

it.each(['', 'a', 'x'.repeat(100)])('leaves a short name as it is', (name) => {
  expect(shorten(name)).toBe(name);
});

it('cuts a long one to a hundred characters, and never in the middle of one', () => {
  expect(shorten('x'.repeat(1_000_000))).toBe(`${'x'.repeat(100)}…`);
  expect(shorten(`${'x'.repeat(99)}😀😀`)).toBe(`${'x'.repeat(99)}…`);
});

it('cuts each member in a pointer', () => {
  expect(jsonPointer(['data', 'y'.repeat(5_000_000), 'z'])).toBe(`/data/${'y'.repeat(100)}…/z`);
});
