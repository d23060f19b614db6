import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { TEST_ENCRYPTION_KEY } from '@hookferry/core/testing/test-sealer';
import { readApiConfig } from '../../../apps/api/src/config';
import { readWorkerConfig } from '../../../apps/worker/src/config';
import { readPage } from '../../docs/read-page';

const ROOT = join(__dirname, '../../..');
const TEST_FILE = /`([\w./-]+\.test\.ts)`/g;
const SETTING = /`([A-Z][A-Z_]+)`/g;

describe('the threat model', () => {
  let page: string;
  beforeAll(async () => {
    page = await readPage('threat-model.md');
  });

  it('names only tests that exist', () => {
    const files = all(page, TEST_FILE);
    expect(files.length).toBeGreaterThan(30);
    expect(files.filter((file) => !existsSync(join(ROOT, file)))).toEqual([]);
  });

  it('has a test for everything that must not happen, and for each limit', () => {
    const rows = [...rowsBelow(page, 'Who may do what to whom'), ...rowsBelow(page, 'Limits')];
    expect(rows.length).toBeGreaterThan(40);
    expect(rows.filter((row) => all(row, TEST_FILE).length === 0)).toEqual([]);
  });

  it('names only settings that a process knows', () => {
    const known = new Set([...settingsOf(readApiConfig), ...settingsOf(readWorkerConfig)]);
    const named = rowsBelow(page, 'Limits').flatMap((row) => all(row, SETTING));
    expect(named).toContain('RATE_LIMIT');
    expect(named.filter((setting) => !known.has(setting))).toEqual([]);
  });
});

function all(text: string, pattern: RegExp): string[] {
  return [...text.matchAll(pattern)].map(([, found = '']) => found);
}

/** The entries of the lists in a section, with what belongs to each. */
function rowsBelow(page: string, heading: string): string[] {
  const section = page.split(`\n## ${heading}\n`)[1]?.split('\n## ')[0] ?? '';
  return section.match(/^- .*(?:\n +.*)*/gm) ?? [];
}

function settingsOf(read: (environment: Record<string, string | undefined>) => unknown): Set<string> {
  const settings = new Set<string>();
  const get = (_target: unknown, name: string | symbol) => {
    settings.add(String(name));
    return name === 'SECRETS_ENCRYPTION_KEY' ? TEST_ENCRYPTION_KEY : undefined;
  };
  read(new Proxy<Record<string, string | undefined>>({}, { get }));
  return settings;
}
