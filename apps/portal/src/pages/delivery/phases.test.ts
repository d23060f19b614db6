import { phasesOf } from './phases';

describe('phasesOf', () => {
  it('puts one after the other, and gives the rest what none has measured', () => {
    const timings = { dns_ms: 5, connect_ms: 10, tls_ms: null, first_byte_ms: 30, total_ms: 50 };
    expect(phasesOf({ timings, outcome: 'delivered' })).toEqual([
      { name: 'DNS', ms: 5, startMs: 0 },
      { name: 'Connect', ms: 10, startMs: 5 },
      { name: 'TLS', ms: undefined, startMs: 15 },
      { name: 'First byte', ms: 30, startMs: 15 },
      { name: 'Rest', ms: 5, startMs: 45 },
    ]);
  });

  it.each([
    ['dns_error', ['DNS 7']],
    ['connect_refused', ['Connect 7']],
    ['tls_error', ['TLS 7']],
    ['response_timeout', ['First byte 7']],
    ['network_error', ['Rest 7']],
  ] as const)('gives the time of an attempt that ended with %s to %j', (outcome, drawn) => {
    const timings = { dns_ms: null, connect_ms: null, tls_ms: null, first_byte_ms: null, total_ms: 7 };
    const phases = phasesOf({ timings, outcome });
    expect(phases.filter(({ ms }) => ms !== undefined).map(({ name, ms }) => `${name} ${ms}`)).toEqual(drawn);
  });

  it('leaves to the rest what came after a phase that was measured', () => {
    const timings = { dns_ms: null, connect_ms: 2, tls_ms: null, first_byte_ms: 3, total_ms: 9 };
    expect(phasesOf({ timings, outcome: 'response_timeout' }).at(-1)).toEqual({
      name: 'Rest',
      ms: 4,
      startMs: 5,
    });
  });
});
