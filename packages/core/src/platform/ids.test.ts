import * as fc from 'fast-check';
import {
  createNewId,
  createSeededNewId,
  createSeededSecretBytes,
  encodeBytes,
  encodeTime,
  newSecretBytes,
} from './ids';

describe('ids', () => {
  describe('createNewId', () => {
    it('gives the prefix, an underscore and 22 characters without look-alikes', () => {
      expect(createNewId(Date.now)('evt')).toMatch(/^evt_[0-9a-hjkmnp-tv-z]{22}$/);
    });

    it('gives ids that sort by their time', () => {
      const times = [0, 1, 31, 32, 1_023, 1_024, 1_699_999_999_999, 1_700_000_000_000, 32 ** 10 - 1];
      const ids = times.map((time) => createNewId(() => time)('wh'));
      expect(ids.toSorted()).toEqual(ids);
      expect(new Set(ids.map((id) => id.slice(0, 13))).size).toBe(times.length);
    });

    it('gives ids that sort in the order in which they were made, and none twice, within one millisecond', () => {
      const newId = createNewId(() => 1_700_000_000_000);
      const ids = Array.from({ length: 10_000 }, () => newId('evt'));
      expect(ids.toSorted()).toEqual(ids);
      expect(new Set(ids).size).toBe(10_000);
      expect(new Set(ids.map((id) => id.length))).toEqual(new Set([26]));
    });

    it('goes on in order when the clock goes back', () => {
      const times = [1_700_000_000_001, 1_700_000_000_000, 1_600_000_000_000, 1_700_000_000_002];
      const newId = createNewId(() => times.shift() ?? 0);
      const ids = Array.from({ length: 4 }, () => newId('evt'));
      expect(ids.toSorted()).toEqual(ids);
    });

    it('gives other ids in another process at the same time', () => {
      const ids = Array.from({ length: 1_000 }, () => createNewId(() => 1_700_000_000_000)('evt'));
      expect(new Set(ids).size).toBe(1_000);
    });
  });

  describe('createSeededNewId', () => {
    const idsOf = (seed: string, epochMs = 1_700_000_000_000) => {
      const newId = createSeededNewId(epochMs, seed);
      return [newId('evt'), newId('evt'), newId('wh')];
    };

    it('gives ids that look like any others', () => {
      for (const id of idsOf('seed')) expect(id).toMatch(/^(evt|wh)_01hf7yat00[0-9a-hjkmnp-tv-z]{12}$/);
    });

    it('gives the same ids in the same order for the same seed, and others for another seed or time', () => {
      expect(idsOf('seed')).toEqual(idsOf('seed'));
      const all = [...idsOf('seed'), ...idsOf('other'), ...idsOf('seed', 1_700_000_000_001)];
      expect(new Set(all).size).toBe(9);
    });
  });

  describe('encodeTime', () => {
    it.each([
      [0, '0000000000'],
      [31, '000000000z'],
      [32, '0000000010'],
      [1_700_000_000_000, '01hf7yat00'],
    ])('writes %d in base 32, with its zeros in front', (time, text) => {
      expect(encodeTime(time)).toBe(text);
    });
  });

  describe('encodeBytes', () => {
    it('takes one character from each byte, and the same from the same', () => {
      expect(encodeBytes(Uint8Array.of(0, 1, 31, 32, 255), 5)).toBe('01z0z');
      expect(encodeBytes(Uint8Array.of(7, 8), 1)).toBe('7');
    });
  });

  it('makes ids that sort in the order in which they were made, however the clock jumps', () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 0, max: 2 ** 42 }), { minLength: 2, maxLength: 200 }),
        (times) => {
          const clock = times.values();
          const newId = createNewId(() => clock.next().value ?? 0);
          const ids = times.map(() => newId('evt'));
          expect(ids.toSorted()).toEqual(ids);
          expect(new Set(ids).size).toBe(ids.length);
          for (const id of ids) expect(id).toMatch(/^evt_[0-9a-z]{22}$/);
        },
      ),
    );
  });
});

describe('secret bytes', () => {
  const draw = (bytes: (count: number) => Buffer) => [bytes(32), bytes(32), bytes(52)].map(String);

  it('gives as many bytes as are asked for', () => {
    for (const bytes of [newSecretBytes, createSeededSecretBytes('secret', 'seed')]) {
      expect([1, 52].map((count) => bytes(count).length)).toEqual([1, 52]);
    }
  });

  it('gives the same bytes from the same secret and seed, and none of them twice', () => {
    const first = draw(createSeededSecretBytes('secret', 'seed'));
    expect(draw(createSeededSecretBytes('secret', 'seed'))).toEqual(first);
    expect(new Set(first).size).toBe(first.length);
  });

  it('gives other bytes from another secret or another seed', () => {
    const [first] = draw(createSeededSecretBytes('secret', 'seed'));
    expect(draw(createSeededSecretBytes('other', 'seed'))).not.toContain(first);
    expect(draw(createSeededSecretBytes('secret', 'other'))).not.toContain(first);
  });
});
