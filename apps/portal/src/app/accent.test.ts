import { accentOn, contrast, parse } from './accent';

describe('accentOn', () => {
  const colors = ['#0757c2', '#ffff00', '#777777', '#000000', '#ffffff', '#ff69b4'];
  const surfaces = ['#f6f8fa', '#22272e'];

  it.each(colors.flatMap((color) => surfaces.map((surface) => [color, surface] as const)))(
    'can be read: %s on %s, and what is written on it',
    (color, surface) => {
      const accent = accentOn(surface, color);
      const [shown, on, below] = [accent?.color, accent?.on, surface].map((each) => parse(each ?? ''));
      if (!shown || !on || !below) throw new Error('no colour');
      expect(contrast(shown, below)).toBeGreaterThanOrEqual(4.5);
      expect(contrast(on, shown)).toBeGreaterThanOrEqual(4.5);
    },
  );

  it('leaves a colour as it is that can be read already', () => {
    expect(accentOn('#ffffff', '#0757c2')?.color).toBe('#0757c2');
  });

  it.each(['red', '#fff', 'url(x)', ''])('takes no %j', (color) => {
    expect(accentOn('#ffffff', color)).toBeUndefined();
  });
});
