import { readFileSync } from 'node:fs';
import type { z } from 'zod';

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
  const names = Object.keys(schema.shape);
  const parsed = schema.safeParse(Object.fromEntries(names.map((name) => [name, lookUp(name, environment)])));
  if (parsed.success) return parsed.data;
  const lines = parsed.error.issues.map((issue) => `  ${issue.path.join('.')}: ${issue.message}`);
  throw new ConfigError(`The configuration can't be used:\n${lines.join('\n')}`);
}

function lookUp(name: string, environment: Environment): string | undefined {
  const value = environment[name];
  const path = environment[`${name}_FILE`];
  if (path === undefined || path === '') return value === '' ? undefined : value;
  if (value !== undefined && value !== '') {
    throw new ConfigError(`Both ${name} and ${name}_FILE are set: remove one of them.`);
  }
  return readSecretFile(name, path);
}

function readSecretFile(name: string, path: string): string {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch (cause) {
    throw new ConfigError(`${name}_FILE names ${path}, which can't be read.`, { cause });
  }
}
