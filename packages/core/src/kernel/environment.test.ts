import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { caughtFrom } from '../testing/caught-from';
import { ConfigError, type Environment, readConfig } from './environment';

const schema = z.object({
  HOST: z.string().default('localhost'),
  PORT: z.coerce.number().int().max(65_535, 'must be at most 65535').default(3000),
  TOKEN: z.string().min(8, 'must have at least 8 characters').optional(),
});

let directory: string;
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'environment-'));
});
afterAll(() => rmSync(directory, { recursive: true }));

function writeSecret(text: string): string {
  const path = join(directory, 'token');
  writeFileSync(path, text);
  return path;
}

function faultLines(environment: Environment): string[] {
  const error = caughtFrom(() => readConfig(schema, environment));
  return error instanceof ConfigError ? error.message.split('\n') : [];
}

describe('readConfig', () => {
  it('takes what is set, defaults for the rest, and nothing that it does not know', () => {
    expect(readConfig(schema, { PORT: '80', PATH: '/bin' })).toEqual({ HOST: 'localhost', PORT: 80 });
  });

  it('counts an empty variable as not set', () => {
    expect(readConfig(schema, { HOST: '', PORT: '', TOKEN: '', TOKEN_FILE: '' })).toEqual({
      HOST: 'localhost',
      PORT: 3000,
    });
  });

  it('reads the value of X from the file that X_FILE names, without the white space around it', () => {
    const TOKEN_FILE = writeSecret('long enough\n');
    expect(readConfig(schema, { TOKEN_FILE })).toMatchObject({ TOKEN: 'long enough' });
    expect(readConfig(schema, { TOKEN: '', TOKEN_FILE })).toMatchObject({ TOKEN: 'long enough' });
  });

  it('checks what is in a file like any other value', () => {
    expect(faultLines({ TOKEN_FILE: writeSecret('short') })).toEqual([
      "The configuration can't be used:",
      '  TOKEN: must have at least 8 characters',
    ]);
  });

  it('names every fault on a line of its own', () => {
    const lines = faultLines({
      PORT: '65536',
      TOKEN: 'short',
      HOST: 'localhost',
      HOST_FILE: writeSecret('localhost'),
    });
    expect(lines).toEqual([
      "The configuration can't be used:",
      '  HOST: is set, and HOST_FILE too: remove one of them',
      '  PORT: must be at most 65535',
      '  TOKEN: must have at least 8 characters',
    ]);
  });

  it('says which file can not be read', () => {
    const path = join(directory, 'missing');
    expect(faultLines({ TOKEN_FILE: path })).toEqual([
      "The configuration can't be used:",
      `  TOKEN: TOKEN_FILE names ${path}, which can't be read (ENOENT)`,
    ]);
  });

  it('repeats no value of a secret', () => {
    expect(faultLines({ TOKEN: 's3cr3t', TOKEN_FILE: writeSecret('s3cr3t') }).join()).not.toContain('s3cr3t');
    expect(faultLines({ TOKEN: 's3cr3t' }).join()).not.toContain('s3cr3t');
  });
});
