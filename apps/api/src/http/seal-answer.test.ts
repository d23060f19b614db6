import * as fc from 'fast-check';
import { openAnswer, sealAnswer } from './seal-answer';

const options = { apiKey: 'whk_0000000000000000_secret', place: 'slot' };

describe('a sealed answer', () => {
  it('is opened by the API key that it was sealed with, and gives what went in', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (answer) => {
        expect(openAnswer(sealAnswer(answer, options), options)).toBe(answer);
      }),
    );
  });

  it('shows nothing of itself, and never looks the same twice', () => {
    const answer = 'whsec_secret';
    const sealed = sealAnswer(answer, options);
    expect(Buffer.from(sealed, 'base64').toString('latin1')).not.toContain(answer);
    expect(sealAnswer(answer, options)).not.toBe(sealed);
  });

  it.each([
    ['with another API key', { ...options, apiKey: 'whk_1111111111111111_secret' }],
    ['in another place', { ...options, place: 'other' }],
  ])('is not opened %s', (_what, other) => {
    expect(openAnswer(sealAnswer('answer', options), other)).toBeUndefined();
  });

  it('is not opened once a bit of it was changed', () => {
    const bytes = Buffer.from(sealAnswer('answer', options), 'base64');
    for (const at of [0, 12, bytes.length - 1]) {
      const changed = Buffer.from(bytes);
      changed.writeUInt8(changed.readUInt8(at) ^ 1, at);
      expect(openAnswer(changed.toString('base64'), options)).toBeUndefined();
    }
  });
});
