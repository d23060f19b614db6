import { percentile } from '../report/percentile';
import { printTable } from '../report/print-table';
import type { SuiteOptions } from '../suite';
import { type KindResult, measureKind } from './measure-kind';
import { measureNeighbours, type NeighbourResult } from './measure-neighbours';
import { ReceiversProcess } from './receivers-process';
import { SenderProcess } from './sender-process';

/** Receivers that misbehave: what many requests at once to each cost, and what a healthy endpoint notices of them. */
export async function runZooSuite({ redisUrl, short }: SuiteOptions): Promise<void> {
  const receivers = await ReceiversProcess.start();
  try {
    const atOnce = short ? 20 : 1_000;
    printKinds(atOnce, await measureKinds(receivers, atOnce));
    const endpoints = short ? 100 : 1_000;
    const events = short ? 100 : 1_500;
    const result = await measureNeighbours({ redisUrl, receivers, endpoints, events });
    printNeighbours(endpoints, result);
  } finally {
    receivers.stop();
  }
}

async function measureKinds(receivers: ReceiversProcess, atOnce: number): Promise<KindResult[]> {
  const sender = new SenderProcess(receivers.trustedFile);
  const results: KindResult[] = [];
  try {
    await sender.heapBytes();
    for (const kind of receivers.kinds) {
      process.stderr.write(`  ${kind.name}\n`);
      results.push(await measureKind(kind, atOnce, sender, receivers));
    }
  } finally {
    sender.stop();
  }
  return results;
}

function printKinds(atOnce: number, results: readonly KindResult[]): void {
  printTable(`${atOnce} requests at once to each kind of receiver`, [
    ['', 'as it should be', 'outcomes', 's', 'RSS before, MB', 'after', 'files before', 'after'],
    ...results.map(toRow),
  ]);
}

function toRow({ kind, outcomes, durationMs, residentBytes, openFiles }: KindResult): string[] {
  return [
    kind.name,
    kind.outcome,
    Object.entries(outcomes)
      .map(([outcome, count]) => `${count} ${outcome}`)
      .join(', '),
    (durationMs / 1_000).toFixed(1),
    megabytes(residentBytes.before),
    megabytes(residentBytes.after),
    String(openFiles.before),
    String(openFiles.after),
  ];
}

function megabytes(bytes: number): string {
  return (bytes / 1_000_000).toFixed(0);
}

function printNeighbours(endpoints: number, { quiet, besideTheZoo }: NeighbourResult): void {
  const row = (share: number) => {
    const [alone, beside] = [percentile(quiet, share), percentile(besideTheZoo, share)];
    return [`p${share * 100}, ms`, alone.toFixed(1), beside.toFixed(1), (beside / alone).toFixed(2)];
  };
  printTable(`From publishing to the healthy endpoint, ${quiet.length} events at 50 a second`, [
    ['', 'quiet', `beside ${endpoints} endpoints that misbehave`, 'ratio'],
    row(0.5),
    row(0.99),
  ]);
}
