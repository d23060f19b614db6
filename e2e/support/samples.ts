/** An event that is as it should be. */
export const QUICK_WIN = {
  type: 'keyword.quick_win',
  data: { keyword: 'rote Schuhe 👟 — "günstig"', position: 11, volume: 2400 },
} as const;

export const BRIEF = { type: 'brief.created', data: { brief_id: 'brf_1', title: 'Red shoes' } } as const;
