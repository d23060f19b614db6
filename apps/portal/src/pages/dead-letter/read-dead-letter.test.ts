import { indented, readDeadLetter } from './read-dead-letter';

it('takes the data as they were written, whatever stands before them', () => {
  const reason = ',"data": and more';
  const head = JSON.stringify({ id: 'events.1', reason }).slice(0, -1);
  const dataText = '{"big":12345678901234567890,"data":{}}';
  expect(readDeadLetter(`${head},"data":${dataText}}`)).toEqual({
    letter: { id: 'events.1', reason },
    dataText,
  });
});

it('is spread over lines where that changes nothing', () => {
  expect(indented('{"a":[1]}')).toBe('{\n  "a": [\n    1\n  ]\n}');
});

it.each([
  ['a number that JavaScript has no room for', '{"big":12345678901234567890}'],
  ['members that there are twice', '{"a":1,"a":2}'],
  ['spaces', '{ "a": 1 }'],
  ['what is no JSON', '{"broken'],
  ['what is nested too deeply', '['.repeat(100_000) + ']'.repeat(100_000)],
])('is left as it is with %s', (_name, json) => {
  expect(indented(json)).toBe(json);
});
