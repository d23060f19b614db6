import { type DeliveryFact, encodeFact, encodeFactIn, eraseAnswers } from './delivery-fact';
import { letters, readLine } from './delivery-line';
import { readLog } from './delivery-log';
import type { EventId } from './event';

it('has a letter of its own for each member', () => {
  const all = Object.values(letters);
  expect(all.filter((letter, i) => all.indexOf(letter) !== i)).toEqual([]);
});

const NEWER = 'evt_newer' as EventId;
const made = { version: 3, body: '{"x":1}', headers: { 'content-type': 'text/plain' } };

// The version before gave some letters a second meaning. It writes, and can read, these lines.
it.each<[DeliveryFact, string, string]>([
  [
    { kind: 'transformed', transformed: made },
    '{"m":"{\\"x\\":1}","mh":{"content-type":"text/plain"},"v":3}\n',
    '{"m":"{\\"x\\":1}","h":{"content-type":"text/plain"},"v":3}\n',
  ],
  [{ kind: 'reused', version: 3 }, '{"v":3}\n', '{"w":3}\n'],
  [
    { kind: 'superseded', by: NEWER },
    '{"c":"superseded","si":"evt_newer"}\n',
    '{"c":"superseded","i":"evt_newer"}\n',
  ],
  [{ kind: 'cancelled', reason: 'dropped' }, '{"c":"dropped"}\n', '{"c":"dropped"}\n'],
])('writes %j, and reads it as the version before has written it', (fact, line, former) => {
  expect(encodeFact(fact)).toBe(line);
  expect(encodeFactIn('former', fact)).toBe(former);
  const before = encodeFact({ kind: 'transformed', transformed: made });
  expect(readLog(before + former)).toEqual(readLog(before + line));
  expect(readLine(former)).toEqual(readLine(line));
});

it('keeps what a line says that has nothing of an answer when the payload is erased', () => {
  for (const line of ['{"c":"superseded","i":"evt_newer"}', '{"w":3}', '{"q":"rdl_1","g":"manual","t":7}']) {
    expect(eraseAnswers(`${line}\n`, 5)).toBe(`{"z":5}\n${line}\n`);
  }
});
