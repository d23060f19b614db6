import { fromLocalInput, toLocalInput } from './range';

it('takes a time to the input and back, to the minute', () => {
  const time = new Date('2030-01-31T12:34:56.000Z');
  expect(fromLocalInput(toLocalInput(time))).toBe('2030-01-31T12:34:00.000Z');
});

it('gives the input every year with four digits, as it has it while one is typed', () => {
  expect(toLocalInput(new Date(fromLocalInput('0020-01-31T12:34') ?? ''))).toBe('0020-01-31T12:34');
});

it('makes no time of what is none', () => {
  expect(fromLocalInput('')).toBeUndefined();
});
