import type { Command } from 'commander';
import { type Cli, connect } from '../cli';
import { formatBytes } from '../output/format-bytes';
import type { AccountUsage } from '../resources';
import { addExample } from './example';

export function addUsage(program: Command, cli: Cli): void {
  const usage = program
    .command('usage')
    .description('Show how much the account stores, and its limit.')
    .action(() => showUsage(cli));
  addExample(usage, 'hookferry usage --json');
}

async function showUsage(cli: Cli): Promise<void> {
  const usage = await (await connect(cli)).GET('/v1/account/usage');
  cli.output.document(usage, [
    ['used', ({ used_bytes }) => formatBytes(used_bytes)],
    ['history', historyOf],
    ['quota', ({ quota_bytes }) => (quota_bytes === null ? 'none' : formatBytes(quota_bytes))],
    ['events', ({ events, bytes }) => `${events}, ${formatBytes(bytes.events)}`],
    ['deliveries', ({ bytes }) => formatBytes(bytes.deliveries)],
    ['responses', ({ bytes }) => formatBytes(bytes.responses)],
    ['replays', ({ bytes }) => formatBytes(bytes.replays)],
    ['portal', ({ bytes }) => formatBytes(bytes.portal_sessions)],
    ['webhooks', ({ webhooks }) => webhooks],
    ['API keys', ({ api_keys }) => api_keys],
  ]);
}

function historyOf({ history, history_bytes: bytes }: AccountUsage): string {
  if (history !== null) return 'not reachable';
  return bytes === null ? 'none' : formatBytes(bytes);
}
