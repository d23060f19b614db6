// @ts-check

/** One event of each known type. */
export const demoEvents = [
  { type: 'keyword.quick_win', data: { keyword: 'running shoes', position: 11, volume: 2400 } },
  { type: 'brief.created', data: { brief_id: 'brf_82h1', title: 'How to choose running shoes' } },
  {
    type: 'import.completed',
    data: { import_id: 'imp_4k9x', source: 'csv', total_rows: 1200, failed_rows: 3 },
  },
];

/** The type whose first request is refused, so that a retry can be seen. */
export const REFUSED_ONCE = 'brief.created';
