import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ApiClient } from './api-client';

const EVENT_TYPES = join(__dirname, '../../examples/event-types');

/** An event that is as it should be. */
export const QUICK_WIN = {
  type: 'keyword.quick_win',
  data: { keyword: 'rote Schuhe 👟 — "günstig"', position: 11, volume: 2400 },
} as const;

/** The types that all pages and examples are about: `order.created` and `order.paid`. */
export async function addTypes(operator: ApiClient): Promise<void> {
  for (const name of ['order.created', 'order.paid']) {
    const type = await readFile(join(EVENT_TYPES, `${name}.json`), 'utf8');
    const { status } = await operator.request('PUT', `/v1/event-types/${name}`, type);
    if (status >= 300) throw new Error(`${name} was refused: ${status}`);
  }
}

export const BRIEF = { type: 'brief.created', data: { brief_id: 'brf_1', title: 'Red shoes' } } as const;
