import { formatMs, phasesOf } from './phases';

describe('phasesOf', () => {
  it('puts one after the other, and gives the rest what none has measured', () => {
    const timings = { dns_ms: 5, connect_ms: 10, tls_ms: null, first_byte_ms: 30, total_ms: 50 };
    expect(phasesOf({ timings })).toEqual([
      { name: 'DNS', ms: 5, startMs: 0 },
      { name: 'Connect', ms: 10, startMs: 5 },
      { name: 'TLS', ms: undefined, startMs: 15 },
      { name: 'First byte', ms: 30, startMs: 15 },
      { name: 'Rest', ms: 5, startMs: 45 },
    ]);
  });
});

it.each([
  [0.44, '0.4 ms'],
  [38.2, '38 ms'],
  [12_540, '12.5 s'],
])('formatMs: %d is %s', (ms, text) => {
  expect(formatMs(ms)).toBe(text);
});
