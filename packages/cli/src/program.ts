import { Command } from 'commander';
import type { Cli } from './cli';
import { addAccounts } from './commands/accounts';
import { addAudit } from './commands/audit';
import { addCompletion } from './commands/completion';
import { addContacts, addNotifications } from './commands/contacts';
import { addDeadLetters } from './commands/dead-letters';
import { addDeliveries } from './commands/deliveries/deliveries';
import { addDoctor } from './commands/doctor/doctor';
import { addEndpoints } from './commands/endpoints/endpoints';
import { addEvents } from './commands/events';
import { addExplain } from './commands/explain';
import { addExport } from './commands/export';
import { addFilters } from './commands/filters';
import { addInit } from './commands/init';
import { addKeys } from './commands/keys';
import { addListen } from './commands/listen/listen';
import { addLogin } from './commands/login';
import { addLogout } from './commands/logout';
import { addMetrics } from './commands/metrics';
import { addPortal } from './commands/portal';
import { addProfiles } from './commands/profiles';
import { addReplay } from './commands/replay';
import { addReplays } from './commands/replays';
import { addSigningKeys } from './commands/signing-keys';
import { addTransform } from './commands/transform';
import { addTrigger } from './commands/trigger';
import { addTypes } from './commands/types';
import { addUp } from './commands/up';
import { addUsage } from './commands/usage';
import { addVerify } from './commands/verify';
import { EXIT_CODES_HELP } from './failures/exit-codes';
import { parseId } from './input/parse-flags';
import { PACKAGE_VERSION } from './version';

const ENVIRONMENT_HELP = `Environment:
  HOOKFERRY_URL, HOOKFERRY_API_KEY  where the API is, and the key: used instead of the profile
  HOOKFERRY_PROFILE                 the profile, as --profile
  NO_COLOR                          no colours`;

const PARTS = [
  ...[addUp, addLogin, addLogout, addProfiles, addDoctor],
  ...[addEndpoints, addFilters, addTransform, addTypes, addEvents, addTrigger],
  ...[addListen, addInit, addDeliveries, addExplain],
  ...[addReplay, addReplays, addExport, addMetrics, addVerify],
  ...[addContacts, addNotifications],
  ...[addKeys, addSigningKeys, addPortal, addAudit, addAccounts, addDeadLetters, addUsage, addCompletion],
];

/** The command line as it is declared; an action runs once it is parsed. */
export function createProgram(cli: Cli): Command {
  const program = new Command('hookferry')
    .description('Hookferry, a webhook delivery service, from the command line.')
    .version(PACKAGE_VERSION)
    .option('--profile <name>', 'the profile whose URL and key to use (default: that of the last login)')
    .option(
      '--account <id>',
      "act for this account: with an operator's key, or one with accounts:act",
      parseId,
    )
    .option('--json', 'print JSON: one document, or one line for each item of a list')
    .option('--no-input', 'never ask a question; fail and name the flag to pass')
    .addHelpText('after', `\n${ENVIRONMENT_HELP}\n\n${EXIT_CODES_HELP}`)
    .exitOverride()
    .configureHelp({ showGlobalOptions: true })
    .configureOutput({
      writeOut: (text) => cli.output.write(text),
      writeErr: (text) => cli.output.note(text.trimEnd()),
      // The error is thrown as well, and printed like any other.
      outputError: () => {},
    });
  for (const addPart of PARTS) addPart(program, cli);
  return program;
}
