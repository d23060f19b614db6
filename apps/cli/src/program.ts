import { Command } from 'commander';
import type { Cli } from './cli';
import { addCreateAccount } from './commands/create-account';
import { addCreateKey } from './commands/create-key';
import { addDeleteAccount } from './commands/delete-account';
import { addListAccounts } from './commands/list-accounts';
import { addListKeys } from './commands/list-keys';
import { addRevokeKey } from './commands/revoke-key';

const NOTES = `
It talks to Redis itself, as REDIS_URL or REDIS_URL_FILE say (default: redis://127.0.0.1:6379): the Redis of the API.
Exit codes: 0 done · 1 not possible · 2 the command line or REDIS_URL is wrong`;

/** Every command. */
export function createProgram(cli: Cli): Command {
  const { output } = cli;
  const program = new Command('webhooks')
    .description('Accounts and API keys of the webhook delivery service.')
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
  return program;
}
