import type { Command } from 'commander';
import { type Cli, connect } from '../cli';
import type { Column } from '../output/output';
import type { AuditEntry } from '../resources';
import { addExample } from './example';
import { addPaging, type PagingFlags, pageSize, printPages } from './paging';

interface AuditFlags extends PagingFlags {
  readonly actor?: string;
  readonly action?: string;
  readonly target?: string;
  readonly since?: string;
  readonly until?: string;
  readonly allAccounts?: boolean;
}

const COLUMNS: readonly Column<AuditEntry>[] = [
  ['created', ({ created_at }) => created_at],
  ['actor', ({ actor }) => nameOf(actor)],
  ['action', ({ action }) => action],
  ['target', ({ target }) => target?.id],
  ['outcome', ({ outcome, code }) => code ?? outcome],
  ['changed', ({ changes }) => changes.map(({ field }) => field).join(', ')],
  ['address', ({ address }) => address],
];

export function addAudit(program: Command, cli: Cli): void {
  const audit = program
    .command('audit')
    .description('The audit log: who changed what, and refused requests.');
  const list = audit
    .command('list')
    .description('List the entries of the audit log.')
    .option('--actor <id>', 'only actions of this key, session, system user, or type of actor')
    .option('--action <name>', 'only these actions, such as webhook.update or webhook.*')
    .option('--target <id>', 'only actions on this object')
    .option('--since <time>', 'only from this time on, such as 2026-11-21T12:00:00Z')
    .option('--until <time>', 'only before this time')
    .option('--all-accounts', "of all accounts; for operators' keys")
    .action((flags: AuditFlags) => listAudit(flags, cli));
  addExample(addPaging(list), 'hookferry audit list --action "webhook.*" --limit 20');
}

async function listAudit(flags: AuditFlags, cli: Cli): Promise<void> {
  const client = await connect(cli);
  const { actor, action, target, since, until, allAccounts } = flags;
  const query = {
    limit: pageSize(flags),
    ...(actor !== undefined && { actor }),
    ...(action !== undefined && { action }),
    ...(target !== undefined && { target }),
    ...(since !== undefined && { since }),
    ...(until !== undefined && { until }),
    ...(allAccounts === true && { account_id: '*' as const }),
  };
  let isCutShort = false;
  const onHistoryUnavailable = () => {
    isCutShort = true;
  };
  await printPages(cli, flags, {
    items: client.paginate('/v1/audit-log', { params: { query }, onHistoryUnavailable }),
    columns: COLUMNS,
    ifNone: 'There are none.',
    isCutShort: () => isCutShort,
  });
}

function nameOf(actor: AuditEntry['actor']): string {
  switch (actor.type) {
    case 'api_key':
      return `key ${actor.id}`;
    case 'portal_session':
      return actor.label ?? `session ${actor.id}`;
    case 'admin_command':
      return `${actor.system_user}, hookferry-admin ${actor.command}`;
    case 'anonymous':
      return 'nobody known';
  }
}
