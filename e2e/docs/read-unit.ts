import { readFileSync } from 'node:fs';
import { join } from 'node:path';

export const UNITS = join(__dirname, '../../deploy/systemd');

export interface Unit {
  /** Of a name that is there several times, the last value. */
  readonly values: ReadonlyMap<string, string>;
  /** What it starts: the program and its arguments. */
  readonly command: readonly string[];
  /** What it sets, in the unit whose name ends in the port. */
  environment(port: number): Record<string, string>;
}

/** A unit of `deploy/systemd`, as far as its settings have a line each. */
export function readUnit(name: string): Unit {
  const lines = readFileSync(join(UNITS, name), 'utf8').split('\n');
  const settings = lines.filter((line) => /^\w+=/.test(line)).map(splitAtEquals);
  const set = settings
    .filter(([setting]) => setting === 'Environment')
    .map(([, value]) => splitAtEquals(value));
  const values = new Map(settings);
  return {
    values,
    command: (values.get('ExecStart') ?? '').split(' '),
    environment: (port) =>
      Object.fromEntries(set.map(([setting, value]) => [setting, value.replace('%i', String(port))])),
  };
}

function splitAtEquals(line: string): readonly [string, string] {
  const at = line.indexOf('=');
  return [line.slice(0, at), line.slice(at + 1)];
}
