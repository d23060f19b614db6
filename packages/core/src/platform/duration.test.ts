import {
  allowanceSchema,
  durationListSchema,
  durationSchema,
  formatDuration,
  parseDuration,
  positiveDurationSchema,
} from './duration';

describe('duration', () => {
  describe('parseDuration', () => {
    it.each([
      ['0s', 0],
      ['250ms', 250],
      ['15s', 15_000],
      ['5m', 300_000],
      ['2h', 7_200_000],
      ['3d', 259_200_000],
      [' 5s ', 5_000],
    ])('reads "%s" as %d ms', (text, ms) => {
      expect(parseDuration(text)).toBe(ms);
    });

    it.each(['', '5', 's', '1.5s', '-5s', '5 s', '5S', '5w', '5s5', '1h30m', '1234567890s', 'Infinitys'])(
      'does not take "%s" for a duration',
      (text) => {
        expect(parseDuration(text)).toBeUndefined();
      },
    );
  });

  describe('durationSchema', () => {
    it('gives milliseconds, or says what a duration looks like', () => {
      expect(durationSchema.parse('15s')).toBe(15_000);
      expect(durationSchema.safeParse('soon').error?.issues).toMatchObject([
        { message: '"soon" is not a duration such as 250ms, 15s, 5m, 2h or 3d' },
      ]);
    });
  });

  describe('positiveDurationSchema', () => {
    it('refuses what would come to nothing', () => {
      expect(positiveDurationSchema.parse('1ms')).toBe(1);
      expect(positiveDurationSchema.safeParse('0s').error?.issues).toMatchObject([
        { message: 'must be more than 0s' },
      ]);
    });
  });

  describe('durationListSchema', () => {
    it('reads durations separated by commas, with or without spaces', () => {
      expect(durationListSchema.parse('5s,5m')).toEqual([5_000, 300_000]);
      expect(durationListSchema.parse(' 5s , 5m ')).toEqual([5_000, 300_000]);
    });

    it.each([
      ['5s,soon,5m,later', [[1], [3]]],
      ['', [[0]]],
      ['5s,', [[1]]],
    ])('names each invalid entry of "%s"', (text, paths) => {
      expect(durationListSchema.safeParse(text).error?.issues.map(({ path }) => path)).toEqual(paths);
    });
  });

  describe('formatDuration', () => {
    it.each(['0s', '250ms', '15s', '5m', '2h', '3d', '90s'])('gives back "%s"', (text) => {
      expect(formatDuration(parseDuration(text) ?? Number.NaN)).toBe(text);
    });
  });
});

describe('allowance', () => {
  describe('allowanceSchema', () => {
    it.each([
      ['1000/1s', { count: 1_000, windowMs: 1_000 }],
      ['20/1m', { count: 20, windowMs: 60_000 }],
      ['1/2000ms', { count: 1, windowMs: 2_000 }],
      ['off', undefined],
    ])('reads %s', (text, allowance) => {
      expect(allowanceSchema.parse(text)).toEqual(allowance);
    });

    it.each([
      '',
      '1000',
      '0/1s',
      '-1/1s',
      '1.5/1s',
      '1e3/1s',
      '10/0s',
      '10/500ms',
      '10/1500ms',
      '10/s',
      '10 / 1s',
      'OFF',
    ])('refuses "%s"', (text) => {
      expect(allowanceSchema.safeParse(text).success).toBe(false);
    });
  });
});
