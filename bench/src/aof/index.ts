/** What an event costs Redis' disk and memory: counts, which a busy machine does not change. */
import { spawnSync } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { createClosables } from '@hookferry/core/testing/closables';
import { Redis } from 'ioredis';
import type { SuiteOptions } from '../options';
import { BuiltService } from '../processes/built-service';
import { RedisProcess } from '../processes/measured-process';
import { printTable, writeJson } from '../report';
import { dataOf, EVENT_TYPE } from '../traffic/events';
import { ReceiverProcess } from '../traffic/receiver';
import { SenderProcess } from '../traffic/sender';

const WARM_UP = 200;
const EVENTS = 2_000;
const EVENTS_SHORT = 500;
const STREAM = 'aof';
/** With any data. */
const LONG_TYPE = 'benchmark.long';
const MORE_WEBHOOKS = 3;
const MORE_BYTES = 4_096;
const ALONE = 200;
const ALONE_SHORT = 10;
const WITHIN_MS = 120_000;
const QUIET_MS = 1_000;
const SOON_QUIET_MS = 100;

/** As docker/redis.conf has it, and nothing is rewritten unless it is told to. */
const SETTINGS = ['--appendonly', 'yes', '--appendfsync', 'always', '--auto-aof-rewrite-percentage', '0'];

interface Row {
  readonly name: string;
  readonly value: number;
}

export async function runAofSuite({ build, short, scene, json, deliveries }: SuiteOptions): Promise<void> {
  const events = deliveries ?? (short ? EVENTS_SHORT : EVENTS);
  const rows = [
    ...(scene === 'syncs' ? [] : await measureSizes(build, events)),
    ...(scene === 'sizes' ? [] : await measureSyncs(build, short ? ALONE_SHORT : ALONE)),
  ];
  const cells = rows.map(({ name, value }) => [name, value.toFixed(value < 100 ? 2 : 0)]);
  printTable('What an event costs Redis’ disk and memory', [['', 'measured'], ...cells]);
  const ratios = rows.map(({ name, value }) => ({
    name,
    plain: 0,
    service: value,
    value,
    aim: null,
    met: null,
  }));
  await writeJson(json, { ratios });
}

interface Sizes {
  /** Written to the append-only file. */
  readonly file: number;
  readonly memory: number;
  /** Of the file as it is rewritten, for each byte of the data in memory. */
  readonly rewritten: number;
}

async function measureSizes(build: string, events: number): Promise<readonly Row[]> {
  const one = await measureSize(build, events, 1, 0);
  const more = await measureSize(build, events, MORE_WEBHOOKS, 0);
  const longer = await measureSize(build, events, 1, MORE_BYTES);
  const furtherOf = (of: 'file' | 'memory') => (more[of] - one[of]) / (MORE_WEBHOOKS - 1);
  const byteOf = (of: 'file' | 'memory') => (longer[of] - one[of]) / MORE_BYTES;
  return [
    { name: 'written for an event with one delivery, bytes', value: one.file },
    { name: 'written for each further delivery, bytes', value: furtherOf('file') },
    { name: 'written for each byte of payload', value: byteOf('file') },
    { name: 'memory of an event with one delivery, bytes', value: one.memory },
    { name: 'memory of each further delivery, bytes', value: furtherOf('memory') },
    { name: 'memory of each byte of payload', value: byteOf('memory') },
    { name: 'rewritten file for each byte of memory', value: one.rewritten },
  ];
}

async function measureSize(build: string, events: number, webhooks: number, bytes: number): Promise<Sizes> {
  process.stderr.write(`  ${events} events to ${webhooks} webhooks, ${bytes} bytes more\n`);
  return await onRedis(build, webhooks, [], async ({ service, receiver, client }) => {
    const publish = async (first: number, count: number) => {
      // One after the other: events that come together share scripts, and then less is written for each.
      for (let i = first; i < first + count; i += 1) {
        const data = { ...dataOf(i), ...(bytes > 0 && { note: incompressible(bytes) }) };
        await service.ask('default', 'POST', '/v1/events', { type: LONG_TYPE, data });
      }
      await receiver.waitForAll(STREAM, (first + count) * webhooks, WITHIN_MS);
      return await untilQuiet(client);
    };
    const empty = await untilQuiet(client);
    const before = await publish(0, WARM_UP);
    const after = await publish(WARM_UP, events);
    await client.bgrewriteaof();
    const rewritten = await untilRewritten(client);
    return {
      file: (after.file - before.file) / events,
      memory: (after.memory - before.memory) / events,
      rewritten: rewritten / (after.memory - empty.memory),
    };
  });
}

/** Data differ from each other, as those of real events do. */
function incompressible(bytes: number): string {
  let text = '';
  while (text.length < bytes) text += Math.random().toString(36).slice(2);
  return text.slice(0, bytes);
}

async function measureSyncs(build: string, events: number): Promise<readonly Row[]> {
  if (spawnSync('strace', ['--version']).status !== 0) {
    process.stderr.write('SKIPPED: how often Redis syncs its file, because there is no strace.\n');
    return [];
  }
  const one = await countSyncs(build, 1, events);
  const more = await countSyncs(build, MORE_WEBHOOKS, events);
  return [
    { name: 'syncs of an event with one delivery, alone', value: one },
    { name: 'syncs of each further delivery', value: (more - one) / (MORE_WEBHOOKS - 1) },
  ];
}

/** One event after the other: those that come together share syncs, the more of them the slower the machine is. */
async function countSyncs(build: string, webhooks: number, events: number): Promise<number> {
  const folder = await mkdtemp(join(tmpdir(), 'webhooks-bench-strace-'));
  try {
    const file = join(folder, 'calls');
    // The server stays a child of ours, and only these calls stop it.
    const strace = ['strace', '-D', '-f', '--seccomp-bpf', '-qq', '-e', 'trace=fsync,fdatasync', '-o', file];
    const calls = async () => (await readFile(file, 'utf8')).split('\n').length;
    return await onRedis(build, webhooks, [...strace, '-e', 'signal=none'], async (stage) => {
      const { sender, receiver, target, client } = stage;
      const publish = async (firstEvent: number, count: number) => {
        await sender.ask('publish', { target, firstEvent, events: count, atOnce: 1 });
        await receiver.waitForAll(STREAM, (firstEvent + count) * webhooks, WITHIN_MS);
        await untilQuiet(client, SOON_QUIET_MS);
      };
      await publish(0, WARM_UP);
      await untilQuiet(client);
      const before = await calls();
      for (let i = 0; i < events; i += 1) await publish(WARM_UP + i, 1);
      const count = (await calls()) - before;
      process.stderr.write(
        `  ${events} events to ${webhooks} webhooks, one after the other: ${count} syncs\n`,
      );
      return count / events;
    });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

interface Stage {
  readonly client: Redis;
  readonly service: BuiltService;
  readonly receiver: ReceiverProcess;
  readonly sender: SenderProcess;
  readonly target: ReturnType<BuiltService['targetOf']>;
}

async function onRedis<T>(
  build: string,
  webhooks: number,
  through: readonly string[],
  work: (stage: Stage) => Promise<T>,
): Promise<T> {
  const { willClose, closeAll } = createClosables();
  try {
    const redis = willClose(await RedisProcess.start(SETTINGS, through));
    const client = new Redis(redis.url);
    willClose({ close: () => client.disconnect() });
    const receiver = willClose(await ReceiverProcess.start());
    const sender = willClose(new SenderProcess());
    const service = willClose(await BuiltService.start({ build, redisUrl: redis.url }));
    const url = receiver.urlOf('ok', STREAM);
    const type = { description: 'A type of the benchmark.', schema: { type: 'object' }, example: dataOf(0) };
    await service.ask('default', 'PUT', `/v1/event-types/${LONG_TYPE}`, type);
    const events = [EVENT_TYPE, LONG_TYPE];
    const all = Array.from({ length: webhooks }, (_, i) => ({ url: `${url}?${i}`, events }));
    await service.registerAll('default', all);
    return await work({ client, service, receiver, sender, target: service.targetOf('default') });
  } finally {
    await closeAll();
  }
}

/** Resolves once nothing is written any more: all is recorded, and the worker waits. */
async function untilQuiet(
  client: Redis,
  quietMs = QUIET_MS,
): Promise<{ readonly file: number; readonly memory: number }> {
  let known = -1;
  for (;;) {
    const { aof_current_size: file = 0 } = await read(client, 'persistence');
    const memory = await readMemory(client);
    if (file === known) return { file, memory };
    known = file;
    await wait(quietMs);
  }
}

/** What `maxmemory` bounds, but for the buffers of connections. */
async function readMemory(client: Redis): Promise<number> {
  const memory = await read(client, 'memory');
  const { used_memory: used = 0, mem_clients_normal: clients = 0, mem_aof_buffer: buffer = 0 } = memory;
  return used - clients - buffer;
}

/** @returns how large the file is then. */
async function untilRewritten(client: Redis): Promise<number> {
  for (;;) {
    const state = await read(client, 'persistence');
    if (state.aof_rewrite_in_progress === 0 && state.aof_rewrite_scheduled === 0)
      return state.aof_base_size ?? 0;
    await wait(QUIET_MS);
  }
}

async function read(client: Redis, section: string): Promise<Readonly<Record<string, number>>> {
  const lines = (await client.info(section)).split('\r\n').map((line) => line.split(':'));
  return Object.fromEntries(lines.map(([name = '', value]) => [name, Number(value)]));
}
