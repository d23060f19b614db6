import { partsOf } from '@hookferry/core/domain/endpoint-settings';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { type Cli, readConnection } from '../../cli';
import { Interrupted } from '../../failures/interrupted';
import { parseList, parsePositive } from '../../input/parse-flags';
import { parseTime } from '../../input/parse-time';
import { flagOf, settingsIn } from '../endpoints/endpoint-flags';
import { addExample } from '../example';
import { defaultName, parseName, secretOf } from './listener-name';
import { type ListenerSettings, Listening } from './listening';
import { printSecret } from './print-secret';
import { shownUrl } from './shown-url';

interface ListenFlags {
  readonly forward: URL;
  readonly events?: readonly string[];
  readonly name?: string;
  readonly since?: string;
  readonly ordering?: 'none' | 'strict' | 'group';
  readonly parallel?: number;
  readonly timeoutMs?: number;
  readonly retrySchedule?: readonly string[];
  readonly printSecret?: boolean;
  /** Of format, batch and coalesce, by their names in code. */
  readonly [setting: string]: unknown;
}

const SHAPE = ['format', 'cloudevents', 'batch', 'coalesce'] as const;

export function addListen(program: Command, cli: Cli): void {
  const listen = program
    .command('listen')
    .description(
      'Send deliveries to a URL of this machine, without a tunnel. Ends with Ctrl-C. Goes on after a broken connection.',
    )
    .requiredOption(
      '--forward <url>',
      'the URL on this machine, such as http://localhost:4000/hook',
      parseForward,
    )
    .option(
      '--events <types>',
      'only these event types, such as order.*,invoice.paid (default: all)',
      parseList,
    )
    .option('--since <time>', 'also events published since then: a time, or how long ago (10m)', (text) =>
      parseTime(text),
    )
    .addOption(
      new Option('--ordering <order>', 'strict: one by one; group: those of a group').choices([
        'none',
        'strict',
        'group',
      ]),
    )
    .option('--parallel <n>', 'how many deliveries to forward at once (default: 10)', parsePositive)
    .option('--timeout-ms <n>', 'how long a response may take, in milliseconds', parsePositive)
    .option('--retry-schedule <delays>', 'the delays between attempts, such as 1s,10s,1m', parseList)
    .option('--name <name>', 'the name of the listener (default: one for each URL and machine)', parseName)
    .option('--print-secret', 'print the secret that signs the deliveries, and end')
    .action((flags: ListenFlags) => runListen(flags, cli));
  for (const part of partsOf(SHAPE)) listen.addOption(flagOf(part));
  addExample(
    listen,
    "hookferry listen --forward http://localhost:4000/hook --events 'order.*'",
    'hookferry listen --forward http://localhost:4000/hook --print-secret',
    'hookferry listen --forward http://localhost:4000/hook --since 10m --json | jq .outcome',
    'hookferry listen --forward http://localhost:4000/hook --batch-max-events 100 --batch-max-wait-ms 1000',
  );
}

async function runListen(flags: ListenFlags, cli: Cli): Promise<void> {
  const connection = await readConnection(cli);
  const name = flags.name ?? defaultName(flags.forward);
  const settings = settingsOf(name, secretOf(name, connection.key), flags);
  if (flags.printSecret) return await printSecret(settings, connection, cli);
  await cli.interrupts.during(async (signal) => {
    await new Listening(flags.forward, settings, connection, cli).run(signal);
    throw new Interrupted();
  });
}

function settingsOf(name: string, secret: string, flags: ListenFlags): ListenerSettings {
  const { forward, events, since, ordering, parallel, timeoutMs, retrySchedule } = flags;
  return {
    since,
    parallel,
    listener: {
      name,
      secret,
      description: `hookferry listen --forward ${shownUrl(forward)}`.slice(0, 500),
      ...(events && { events: [...events] }),
      ...(ordering && { ordering }),
      ...(timeoutMs && { timeout_ms: timeoutMs }),
      ...(retrySchedule && { retry_schedule: [...retrySchedule] }),
      ...settingsIn(flags, SHAPE),
    },
  };
}

function parseForward(text: string): URL {
  const full = /^[a-z]+:\/\//i.test(text) ? text : `http://${text}`;
  if (/^https?:/i.test(full) && URL.canParse(full)) return new URL(full);
  throw new InvalidArgumentError('It must be a URL such as http://localhost:4000/hook.');
}
