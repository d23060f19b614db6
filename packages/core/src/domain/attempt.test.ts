import { keptHeaders } from './attempt';

describe('keptHeaders', () => {
  it('keeps what tells why a response is as it is, and nothing else', () => {
    const headers = {
      server: 'nginx',
      'retry-after': '120',
      'set-cookie': ['session=secret'],
      'x-other': '1',
    };
    expect(keptHeaders(headers)).toEqual({ server: 'nginx', 'retry-after': '120' });
  });

  it('cuts a long value off', () => {
    expect(keptHeaders({ location: 'x'.repeat(5_000) })).toEqual({ location: 'x'.repeat(200) });
  });

  it('keeps at most 1 KiB', () => {
    const long = 'x'.repeat(1_000);
    const names = ['content-type', 'date', 'location', 'retry-after', 'server', 'via', 'x-request-id'];
    const kept = keptHeaders(Object.fromEntries(names.map((name) => [name, long]))) ?? {};
    expect(Object.entries(kept).flat().join('').length).toBeLessThanOrEqual(1_024);
    expect(Object.keys(kept).length).toBeGreaterThanOrEqual(4);
  });

  it('is nothing without any of them', () => {
    expect(keptHeaders({ 'set-cookie': ['a=b'] })).toBeUndefined();
  });
});
