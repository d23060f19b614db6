import { spawnSync } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import type { Command } from './read-dockerfile';

// The root file system of the machine stands for the container's. /tmp is one of its folders there.
const READ_ONLY =
  'for each in / /tmp; do ! /usr/bin/mountpoint -q "$each" || /usr/bin/mount -o remount,bind,ro "$each"; done';
const NEW_NAMESPACES = ['--mount', '--mount-proc', '--pid', '--fork', '--kill-child'];
const NO_RIGHTS = ['--clear-groups', '--no-new-privs', '--inh-caps=-all', '--bounding-set=-all'];

/**
 * The command as compose.yaml and the Helm chart run it: as process 1 of its own, on a read-only root file system, as a
 * user without rights. Needs root, util-linux and the kernel's leave: see `canConfine`.
 *
 * @param user user and group, by number: `1000:1000`.
 */
export function confine(command: Command, user: string): Command {
  const [userId, groupId] = user.split(':');
  const asUser = `exec /usr/bin/setpriv --reuid=${userId} --regid=${groupId} ${NO_RIGHTS.join(' ')} -- "$@"`;
  return [
    '/usr/bin/unshare',
    ...NEW_NAMESPACES,
    '/bin/sh',
    '-ec',
    `${READ_ONLY}; ${asUser}`,
    'sh',
    ...command,
  ];
}

export function canConfine(): boolean {
  const [program, ...args] = confine(['/bin/true'], '1000:1000');
  return spawnSync(program, args).status === 0;
}

/** The id, outside, of the process that is number 1 inside: `unshare` itself passes no signal on. */
export async function confinedProcess(unshareId: number): Promise<number> {
  const children = await readFile(`/proc/${unshareId}/task/${unshareId}/children`, 'utf8');
  const id = Number(children.trim());
  if (!Number.isInteger(id) || id === 0)
    throw new Error(`Process ${unshareId} has not one child: "${children}".`);
  return id;
}
