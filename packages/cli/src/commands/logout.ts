import type { Command } from 'commander';
import type { Cli } from '../cli';
import { UsageError } from '../failures/usage-error';
import { chosenName } from '../profiles/choose-connection';
import { withoutProfile } from '../profiles/profiles';
import { addExample } from './example';

export function addLogout(program: Command, cli: Cli): void {
  const logout = program
    .command('logout')
    .description('Delete a profile with its key. The key stays valid: revoke it with keys revoke.')
    .action(() => logOut(cli));
  addExample(logout, 'hookferry logout --profile ci');
}

async function logOut({ output, profileFile, environment, flags }: Cli): Promise<void> {
  const profiles = await profileFile.read();
  const name = chosenName({ flag: flags().profile, environment, profiles });
  if (!Object.hasOwn(profiles.byName, name)) {
    throw new UsageError(`There is no profile "${name}".`, 'See: hookferry profiles list');
  }
  await profileFile.write(withoutProfile(profiles, name));
  output.result({ profile: name, removed: true }, `Deleted the profile "${name}".`);
}
