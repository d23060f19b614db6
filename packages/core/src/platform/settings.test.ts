import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { caughtFrom } from '../testing/caught-from';
import { ConfigError, type Environment, readConfig, tracingSettings } from './settings';

describe('environment', () => {
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

  function errorLines(environment: Environment): string[] {
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

    it('counts an empty file as not set', () => {
      expect(readConfig(schema, { HOST_FILE: writeSecret('\n'), TOKEN_FILE: writeSecret('') })).toEqual({
        HOST: 'localhost',
        PORT: 3000,
      });
    });

    it('checks what is in a file like any other value', () => {
      expect(errorLines({ TOKEN_FILE: writeSecret('short') })).toEqual([
        'The configuration is not valid:',
        '  TOKEN: must have at least 8 characters',
      ]);
    });

    it('names every fault on a line of its own', () => {
      const lines = errorLines({
        PORT: '65536',
        TOKEN: 'short',
        HOST: 'localhost',
        HOST_FILE: writeSecret('localhost'),
      });
      expect(lines).toEqual([
        'The configuration is not valid:',
        '  HOST: is set, and HOST_FILE too: remove one of them',
        '  PORT: must be at most 65535',
        '  TOKEN: must have at least 8 characters',
      ]);
    });

    it('says which file can not be read', () => {
      const path = join(directory, 'missing');
      expect(errorLines({ TOKEN_FILE: path })).toEqual([
        'The configuration is not valid:',
        `  TOKEN: TOKEN_FILE names ${path}, which can't be read (ENOENT)`,
      ]);
    });

    it('does not ask for a setting that is there and can not be read', () => {
      const needy = schema.superRefine(({ TOKEN }, context) => {
        if (!TOKEN)
          context.addIssue({ code: 'custom', path: ['TOKEN'], message: 'must be set, or do without' });
      });
      const path = join(directory, 'missing');
      const linesOf = (environment: Environment) => {
        const error = caughtFrom(() => readConfig(needy, environment));
        return error instanceof ConfigError ? error.message.split('\n').slice(1) : [];
      };
      expect(linesOf({ TOKEN_FILE: path })).toEqual([
        `  TOKEN: TOKEN_FILE names ${path}, which can't be read (ENOENT)`,
      ]);
      expect(linesOf({})).toEqual(['  TOKEN: must be set, or do without']);
    });

    it('repeats no value of a secret', () => {
      expect(errorLines({ TOKEN: 's3cr3t', TOKEN_FILE: writeSecret('s3cr3t') }).join()).not.toContain(
        's3cr3t',
      );
      expect(errorLines({ TOKEN: 's3cr3t' }).join()).not.toContain('s3cr3t');
    });
  });
});

describe('tracing settings', () => {
  const read = (environment: Readonly<Record<string, string>>) =>
    readConfig(z.object(tracingSettings), environment);

  it.each([
    ['api-key=abc', { 'api-key': 'abc' }],
    [
      'Authorization=Basic%20dXNlcjpwYXNz, x-tenant = 1',
      { Authorization: 'Basic dXNlcjpwYXNz', 'x-tenant': '1' },
    ],
    // As many write it: not encoded.
    ['authorization=Basic dXNlcjpwYXNzMQ==', { authorization: 'Basic dXNlcjpwYXNzMQ==' }],
    ['discount=50%', { discount: '50%' }],
  ])('reads the headers %s', (text, headers) => {
    expect(read({ OTEL_EXPORTER_OTLP_HEADERS: text }).OTEL_EXPORTER_OTLP_HEADERS).toEqual(headers);
  });

  it.each([
    ['OTEL_EXPORTER_OTLP_ENDPOINT', 'collector:4317', 'such as http://127.0.0.1:4318'],
    ['OTEL_EXPORTER_OTLP_PROTOCOL', 'grpc', 'must be http/json'],
    ['OTEL_EXPORTER_OTLP_HEADERS', 'api-key', 'name=value,name=value'],
    ['OTEL_TRACES_SAMPLER', 'sometimes', 'OTEL_TRACES_SAMPLER: '],
    ['OTEL_TRACES_SAMPLER_ARG', '1.5', 'OTEL_TRACES_SAMPLER_ARG: '],
  ])('says what is wrong with %s=%s', (name, value, words) => {
    const error = caughtFrom(() => read({ [name]: value }));
    expect(error).toBeInstanceOf(ConfigError);
    expect(String(error)).toContain(words);
  });
});
