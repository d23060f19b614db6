import { phasesOf } from './phases';

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
