import type { Command } from 'commander';
import type { Cli } from '../cli';
import { chosenName } from '../profiles/choose-connection';
import { addExample } from './example';

export function addProfiles(program: Command, cli: Cli): void {
  const profiles = program.command('profiles').description('Profiles: the APIs that you have logged in to.');
  const list = profiles
    .command('list')
    .description('List profiles, without their keys.')
    .action(() => listProfiles(cli));
  addExample(list, 'hookferry profiles list');
}

async function listProfiles({ output, profileFile, environment, flags }: Cli): Promise<void> {
  const profiles = await profileFile.read();
  const chosen = chosenName({ flag: flags().profile, environment, profiles });
  const rows = Object.entries(profiles.byName).map(([name, { url }]) => ({
    name,
    url,
    is_used: name === chosen,
  }));
  output.list(
    rows,
    [
      ['profile', ({ name }) => name],
      ['url', ({ url }) => url],
      ['', ({ is_used }) => (is_used ? '← used' : ' ')],
    ],
    'There are none. Create one: hookferry login --url URL',
  );
}
