import { ConfigError } from '../kernel/environment';
import { describeStartFault } from './run-process';

function fault(code: string): Error {
  return Object.assign(new Error(`listen ${code} 1.2.3.4:3000`), { code });
}

describe('describeStartFault', () => {
  it.each(['EACCES', 'EADDRINUSE', 'EADDRNOTAVAIL', 'ENOTFOUND'])(
    'says in one line what to do about %s',
    (code) => {
      expect(describeStartFault(fault(code))).toMatch(/^listen \w+ 1\.2\.3\.4:3000: .*choose .*\.$/);
    },
  );

  it('gives the lines of a configuration that is wrong', () => {
    expect(describeStartFault(new ConfigError('wrong:\n  X: must be set'))).toBe('wrong:\n  X: must be set');
  });

  it('says where anything else broke', () => {
    const error = new Error('no luck');
    expect(describeStartFault(error)).toBe(error.stack);
    expect(describeStartFault('no luck')).toBe('no luck');
  });
});
