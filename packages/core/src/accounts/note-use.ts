import type { Clock } from '../kernel/clock';
import { createLru } from '../kernel/lru';
import type { ApiKey } from '../model/api-key';
import type { ApiKeyStore } from './redis-api-key-store';

const NOTE_EVERY_MS = 60_000;
const REMEMBERED_KEYS = 10_000;

/** Notes that a key was used, at most once a minute for each key, without anybody waiting for it. */
export function createNoteUse(apiKeyStore: Pick<ApiKeyStore, 'noteUse'>, clock: Clock) {
  const notedAt = createLru<string, number>(REMEMBERED_KEYS);

  return function noteUse({ id }: ApiKey): void {
    const now = clock();
    if (now - (notedAt.get(id) ?? -Infinity) < NOTE_EVERY_MS) return;
    notedAt.set(id, now);
    // A note that is lost is made good by the next one, and the connection announces its own errors.
    apiKeyStore.noteUse(id, now).catch(() => {});
  };
}

export type NoteUse = ReturnType<typeof createNoteUse>;
