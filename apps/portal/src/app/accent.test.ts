import { accentOn, contrast, parse, surfacesOf } from './accent';

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

describe('surfacesOf', () => {
  const colors = ['#ffffff', '#fdf6e3', '#000000', '#ff69b4', '#1e1e2e', '#777777'];
  const quiet = { light: '#626c78', dark: '#939dab' };

  it.each(colors.flatMap((color) => (['light', 'dark'] as const).map((scheme) => [color, scheme] as const)))(
    'gives backgrounds that text can be read on, and edges that are seen: %s on a %s page',
    (color, scheme) => {
      const surfaces = surfacesOf(scheme, color);
      const text = parse(quiet[scheme]);
      const sunken = parse(surfaces?.['surface-sunken'] ?? '');
      const edge = parse(surfaces?.['border-strong'] ?? '');
      if (!surfaces || !text || !sunken || !edge) throw new Error('no colours');
      for (const name of ['surface', 'surface-sunken', 'surface-hover'] as const) {
        const shade = parse(surfaces[name]);
        if (!shade) throw new Error('no colour');
        expect(contrast(text, shade)).toBeGreaterThanOrEqual(4.5);
      }
      expect(contrast(edge, sunken)).toBeGreaterThanOrEqual(2.95);
    },
  );

  it('leaves a colour as it is if text can be read on it already', () => {
    expect(surfacesOf('light', '#fffdf8')?.surface).toBe('#fffdf8');
    expect(surfacesOf('dark', '#101014')?.surface).toBe('#101014');
  });

  it('takes no other text', () => {
    expect(surfacesOf('light', 'url(x)')).toBeUndefined();
  });
});
