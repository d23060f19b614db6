import { VERSION } from '@hookferry/core/platform/version';
import { Command } from 'commander';
import type { Cli } from './cli';
import { addCopyData } from './commands/copy-data';
import { addCreateAccount } from './commands/create-account';
import { addCreateKey } from './commands/create-key';
import { addDropDeadLetters, addRedriveDeadLetters } from './commands/dead-letters';
import { addDeleteAccount } from './commands/delete-account';
import { addListAccounts } from './commands/list-accounts';
import { addListDeadLetters } from './commands/list-dead-letters';
import { addListKeys } from './commands/list-keys';
import { addRevokeKey } from './commands/revoke-key';
import { addShowDeadLetter } from './commands/show-dead-letter';

const NOTES = `
It talks to Redis itself, as REDIS_URL or REDIS_URL_FILE say (default: that of npm start in this folder,
while it runs, or redis://127.0.0.1:6379): the Redis of the API.
Exit codes: 0 done · 1 not possible · 2 the command line or REDIS_URL is wrong`;

/** Every command. */
export function createProgram(cli: Cli): Command {
  const { output } = cli;
  const program = new Command('hookferry-admin')
    .description('Accounts, API keys, dead letters and the data of the webhook delivery service.')
    .version(VERSION)
    .addHelpText('after', NOTES)
    .configureOutput({ writeOut: (text) => output.out(text), writeErr: (text) => output.error(text) })
    .exitOverride();

  const keys = program.command('keys').description('API keys');
  addCreateKey(keys, cli);
  addListKeys(keys, cli);
  addRevokeKey(keys, cli);

  const accounts = program
    .command('accounts')
    .description('accounts, each of which sees its own things only');
  addCreateAccount(accounts, cli);
  addListAccounts(accounts, cli);
  addDeleteAccount(accounts, cli);

  const deadLetters = program
    .command('dead-letters')
    .description('jobs that no worker will take any more: invalid events, and what failed for good');
  addListDeadLetters(deadLetters, cli);
  addShowDeadLetter(deadLetters, cli);
  addRedriveDeadLetters(deadLetters, cli);
  addDropDeadLetters(deadLetters, cli);

  const data = program.command('data').description('all that is in Redis');
  addCopyData(data, cli);
  return program;
}
