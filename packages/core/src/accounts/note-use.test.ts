import { buildApiKey } from '../testing/build-api-key';
import { createNoteUse } from './note-use';

const NOW = 1_700_000_000_000;

/** Notes uses at the time of `clock.now`; `notes` are those that were written. */
function create({ fails = false } = {}) {
  const clock = { now: NOW };
  const notes: (readonly [string, number])[] = [];
  const store = {
    async noteUse(id: string, usedAt: number) {
      notes.push([id, usedAt]);
      if (fails) throw new Error('no luck');
    },
  };
  return { clock, notes, noteUse: createNoteUse(store, () => clock.now) };
}

describe('noteUse', () => {
  it('notes a use at most once a minute', () => {
    const { clock, notes, noteUse } = create();
    const { record } = buildApiKey();
    for (const at of [0, 1, 59_999, 60_000, 119_999]) {
      clock.now = NOW + at;
      noteUse(record);
    }
    expect(notes).toEqual([
      [record.id, NOW],
      [record.id, NOW + 60_000],
    ]);
  });

  it('notes the use of each key', () => {
    const { notes, noteUse } = create();
    const records = [buildApiKey().record, buildApiKey().record];
    records.forEach(noteUse);
    expect(notes.map(([id]) => id)).toEqual(records.map(({ id }) => id));
  });

  it('does not disturb anybody when it fails', async () => {
    const { notes, noteUse } = create({ fails: true });
    noteUse(buildApiKey().record);
    await Promise.resolve();
    expect(notes.length).toBe(1);
  });
});
