import { printTable } from '../report/print-table';
import { writeJson } from '../report/write-json';
import type { SuiteOptions } from '../suite';
import type { PathContender } from './contender';
import { judge, type Verdict } from './judge';
import { measurePaths, type PathResult, type PathSize } from './measure-path';
import { plainContender } from './plain-contender';
import { profilePath } from './profile-path';
import { serviceContender } from './service-contender';

const SIZE: PathSize = { saturatedEvents: 10_000, steadySeconds: 20, idleSeconds: 10 };
const SHORT_SIZE: PathSize = { saturatedEvents: 2_000, steadySeconds: 5, idleSeconds: 3 };

/** What an event costs from HTTP to its receiver, beside what a team would write by hand in an afternoon, in turn. */
export async function runPathSuite(options: SuiteOptions): Promise<void> {
  const { short, build, json } = options;
  const size = short ? SHORT_SIZE : SIZE;
  const service = serviceContender(build);
  if (options.profile !== undefined) {
    await profilePath(service, size.saturatedEvents, options.profile);
    return;
  }
  const rounds = options.rounds ?? (short ? 1 : 3);
  const results = new Map<PathContender, PathResult[]>([
    [plainContender, []],
    [service, []],
  ]);
  for (let round = 1; round <= rounds; round += 1) {
    // The machine's moods even out when neither is always the first.
    const order = round % 2 === 1 ? [plainContender, service] : [service, plainContender];
    for (const [i, result] of (await measurePaths(order, size)).entries()) {
      const contender = order[i] ?? service;
      results.get(contender)?.push(result);
      process.stderr.write(`  round ${round} of ${rounds}: ${contender.name}, ${inShort(result)}\n`);
    }
  }
  const raw = { plain: results.get(plainContender) ?? [], service: results.get(service) ?? [] };
  const verdicts = judge(raw.plain, raw.service);
  print(verdicts, rounds);
  await writeJson(json, { ratios: verdicts, raw });
}

function inShort({ saturated }: PathResult): string {
  return `${Math.round(saturated.totalMicros)} µs of CPU per event, ${Math.round(saturated.deliveredPerSecond)}/s`;
}

function print(verdicts: readonly Verdict[], rounds: number): void {
  printTable(`From HTTP to the receiver (median of ${rounds})`, [
    ['', plainContender.name, 'this service', 'ratio', 'aim', 'met'],
    ...verdicts.map(toRow),
  ]);
}

function toRow({ name, plain, service, value, aim, met }: Verdict): string[] {
  const isOwn = value === service;
  const aimText = aim === null ? '' : `${aim}${isOwn ? ', of its own' : ''}`;
  return [
    name,
    figure(plain),
    figure(service),
    plain === 0 ? '' : (service / plain).toFixed(2),
    aimText,
    met === null ? '' : met ? 'yes' : 'no',
  ];
}

function figure(value: number): string {
  return value.toFixed(value < 100 ? 1 : 0);
}
