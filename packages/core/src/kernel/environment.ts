import { readFileSync } from 'node:fs';
import type { z } from 'zod';
import { inWords } from './zod-words';

export type Environment = Readonly<Record<string, string | undefined>>;

/** The environment holds a value that the process can't run with. The message has one line for each fault. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}

/**
 * Reads a process's settings, once, at start-up. An empty variable counts as not set. `X_FILE` gives the path
 * of a file that holds the value of `X` (for secrets that are mounted as files).
 *
 * @throws ConfigError naming every wrong variable.
 */
export function readConfig<T extends z.ZodObject>(schema: T, environment: Environment): z.infer<T> {
  const lookups = Object.keys(schema.shape).map((name) => lookUp(name, environment));
  const parsed = schema.safeParse(
    Object.fromEntries(lookups.map(({ name, value }) => [name, value])),
    inWords,
  );
  const faults = [
    ...lookups.flatMap(({ name, fault }) => (fault === undefined ? [] : [`${name}: ${fault}`])),
    ...(parsed.error?.issues ?? []).map((issue) => `${issue.path.join('.')}: ${issue.message}`),
  ];
  if (parsed.success && faults.length === 0) return parsed.data;
  throw new ConfigError(["The configuration can't be used:", ...faults].join('\n  '));
}

interface Lookup {
  readonly name: string;
  readonly value?: string | undefined;
  readonly fault?: string;
}

function lookUp(name: string, environment: Environment): Lookup {
  const value = textOf(environment[name]);
  const path = textOf(environment[`${name}_FILE`]);
  if (path === undefined) return { name, value };
  if (value !== undefined) return { name, fault: `is set, and ${name}_FILE too: remove one of them` };
  return readSecretFile(name, path);
}

function textOf(value: string | undefined): string | undefined {
  return value === '' ? undefined : value;
}

function readSecretFile(name: string, path: string): Lookup {
  try {
    return { name, value: readFileSync(path, 'utf8').trim() };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return { name, fault: `${name}_FILE names ${path}, which can't be read (${code})` };
  }
}
