import type { Command } from 'commander';
import { type Cli, connect } from '../cli';
import { UsageError } from '../failures/usage-error';
import { parseId, parseList } from '../input/parse-flags';
import type { Column } from '../output/output';
import type { Contact, NewContact, Notification } from '../resources';
import { addYes, type ConfirmFlags, requireYes } from './confirm';
import { addExample } from './example';
import { addPaging, type PagingFlags, pageSize, printPages } from './paging';

interface SettingFlags {
  readonly webhook?: string;
  readonly occasions?: readonly string[];
  readonly digest?: string;
  readonly timeZone?: string;
}

interface AddFlags extends SettingFlags {
  readonly email?: string;
  readonly slack?: string;
  readonly teams?: string;
  readonly discord?: string;
  readonly url?: string;
}

const COLUMNS: readonly Column<Contact>[] = [
  ['id', ({ id }) => id],
  ['type', ({ type }) => type],
  ['target', ({ target }) => target],
  ['status', ({ status }) => status],
  ['webhook', ({ webhook_id: id }) => id ?? 'all'],
  ['occasions', ({ occasions }) => occasions ?? 'all'],
  ['digest', ({ digest }) => digest ?? 'at once'],
  ['time zone', ({ time_zone: zone }) => zone ?? 'UTC'],
];

/** The type of contact that each flag with a target makes. */
const TYPE_OF_FLAG = {
  email: 'email',
  slack: 'slack',
  teams: 'teams',
  discord: 'discord',
  url: 'webhook',
} as const;
const TARGET_FLAGS = Object.keys(TYPE_OF_FLAG) as readonly (keyof typeof TYPE_OF_FLAG)[];

export function addContacts(program: Command, cli: Cli): void {
  const contacts = program
    .command('contacts')
    .description('Contacts: who gets messages when webhooks fail, are disabled or work again.');
  const list = contacts
    .command('list')
    .description('List the contacts, and which of them have confirmed.')
    .action(() => listContacts(cli));
  addExample(list, 'hookferry contacts list');
  addAdd(contacts, cli);
  const update = contacts
    .command('update')
    .description('Change which messages a contact gets.')
    .argument('<id>', 'the contact', parseId)
    .action((id: string, flags: SettingFlags) => updateContact(id, flags, cli));
  addSettings(update, "'all' for ");
  addExample(update, 'hookferry contacts update ct_01m8dcgga8c4s153grcx10 --digest daily --occasions all');
  const ask = contacts
    .command('ask-again')
    .description('Send the link to confirm again.')
    .argument('<id>', 'the contact', parseId)
    .action((id: string) => askAgain(id, cli));
  addExample(ask, 'hookferry contacts ask-again ct_01m8dcgga8c4s153grcx10');
  const test = contacts
    .command('test')
    .description('Send a test message, to see that messages arrive.')
    .argument('<id>', 'the contact', parseId)
    .action((id: string) => sendTest(id, cli));
  addExample(test, 'hookferry contacts test ct_01m8dcgga8c4s153grcx10');
  const remove = contacts
    .command('remove')
    .description('Remove a contact: it gets no more messages.')
    .argument('<id>', 'the contact', parseId)
    .action((id: string, flags: ConfirmFlags) => removeContact(id, flags, cli));
  addExample(addYes(remove), 'hookferry contacts remove ct_01m8dcgga8c4s153grcx10 --yes');
}

function addAdd(contacts: Command, cli: Cli): void {
  const add = contacts
    .command('add')
    .description('Add a contact. It gets one message, and further ones after it has confirmed.')
    .option('--email <address>', 'a mail address')
    .option('--slack <url>', 'the URL of an incoming webhook of Slack')
    .option('--teams <url>', 'the URL of an incoming webhook of Teams')
    .option('--discord <url>', 'the URL of a webhook of Discord')
    .option('--url <url>', 'a URL that gets a POST with JSON')
    .action((flags: AddFlags) => addContact(flags, cli));
  addSettings(add, 'default: ');
  addExample(
    add,
    'hookferry contacts add --email ops@example.com',
    'hookferry contacts add --slack https://hooks.slack.com/services/T000/B000/XXXX --webhook crm --occasions failing,disabled,recovered',
  );
}

function addSettings(command: Command, all: string): void {
  command
    .option('--webhook <id>', `only about this webhook: its id or uid (${all}all)`, parseId)
    .option('--occasions <list>', `only on these occasions, separated by commas (${all}all)`, parseList)
    .option(
      '--digest <how>',
      `together: hourly or daily (${all === 'default: ' ? all : "'none' for "}at once)`,
    )
    .option(
      '--time-zone <name>',
      `of the times in messages, such as Europe/Berlin (${all === 'default: ' ? all : "'none' for "}UTC)`,
    );
}

async function listContacts(cli: Cli): Promise<void> {
  const { data } = await (await connect(cli)).GET('/v1/contacts');
  cli.output.list(data, COLUMNS, 'There are none: nobody gets a message when a webhook fails.');
}

async function addContact(flags: AddFlags, cli: Cli): Promise<void> {
  // Which occasions and digests there are is for the API to say.
  const { webhook, occasions, digest, timeZone } = flags;
  const body = {
    ...targetOf(flags),
    ...(webhook !== undefined && { webhook_id: webhook }),
    ...(occasions !== undefined && { occasions: [...occasions] }),
    ...(digest !== undefined && { digest }),
    ...(timeZone !== undefined && { time_zone: timeZone }),
  } as NewContact;
  const contact = await (await connect(cli)).POST('/v1/contacts', { body });
  cli.output.result(contact, contact.id);
  cli.output.note(`${contact.target} gets a link. It gets messages once it has confirmed.`);
}

function targetOf(flags: AddFlags): Pick<NewContact, 'type' | 'address' | 'url'> {
  const [flag, ...others] = TARGET_FLAGS.filter((name) => flags[name] !== undefined);
  if (flag === undefined || others.length > 0) {
    throw new UsageError(
      'The address of the contact is missing.',
      'Pass one of --email, --slack, --teams, --discord and --url.',
    );
  }
  const type = TYPE_OF_FLAG[flag];
  return type === 'email' ? { type, address: flags[flag] ?? '' } : { type, url: flags[flag] ?? '' };
}

async function updateContact(id: string, flags: SettingFlags, cli: Cli): Promise<void> {
  const { webhook, occasions, digest, timeZone } = flags;
  const body = {
    ...(webhook !== undefined && { webhook_id: webhook === 'all' ? null : webhook }),
    ...(occasions !== undefined && { occasions: occasions.join() === 'all' ? null : [...occasions] }),
    ...(digest !== undefined && { digest: digest === 'none' ? null : digest }),
    ...(timeZone !== undefined && { time_zone: timeZone === 'none' ? null : timeZone }),
  };
  if (Object.keys(body).length === 0) {
    throw new UsageError(
      'There is nothing to change.',
      'Pass --webhook, --occasions, --digest or --time-zone.',
    );
  }
  const client = await connect(cli);
  const params = { path: { id } };
  const contact = await client.PATCH('/v1/contacts/{id}', { params, body: body as Partial<NewContact> });
  cli.output.list([contact], COLUMNS, '');
}

async function askAgain(id: string, cli: Cli): Promise<void> {
  const client = await connect(cli);
  const contact = await client.POST('/v1/contacts/{id}/ask-again', { params: { path: { id } } });
  cli.output.result(contact, `${contact.target} gets another link.`);
}

async function sendTest(id: string, cli: Cli): Promise<void> {
  const client = await connect(cli);
  const contact = await client.POST('/v1/contacts/{id}/test', { params: { path: { id } } });
  cli.output.result(contact, `${contact.target} gets a test message.`);
}

async function removeContact(id: string, flags: ConfirmFlags, cli: Cli): Promise<void> {
  await requireYes(cli, flags, `Remove the contact ${id}?`);
  const client = await connect(cli);
  await client.DELETE('/v1/contacts/{id}', { params: { path: { id } } });
  cli.output.note(`Removed ${id}.`);
}

interface NotificationFlags extends PagingFlags {
  readonly contact?: string;
  readonly topic?: string;
  readonly status?: string;
}

const NOTIFICATION_COLUMNS: readonly Column<Notification>[] = [
  ['created', ({ created_at: at }) => at],
  ['id', ({ id }) => id],
  ['topic', ({ topic }) => topic],
  ['webhooks', ({ subjects, subject_count: count }) => (subjects[0]?.webhook_id == null ? undefined : count)],
  ['contact', ({ contact_id: id }) => id],
  ['type', ({ contact_type }) => contact_type],
  ['status', ({ status }) => status],
  ['attempts', ({ attempts }) => attempts],
  ['error', ({ error }) => error],
];

export function addNotifications(program: Command, cli: Cli): void {
  const notifications = program
    .command('notifications')
    .description('Messages to contacts, with the result of each.');
  const list = notifications
    .command('list')
    .description('List them.')
    .option('--contact <id>', 'only those to this contact', parseId)
    .option('--topic <name>', 'only those about this, such as failing')
    .option('--status <name>', 'only pending, sent, failed or cancelled ones')
    .action((flags: NotificationFlags) => listNotifications(flags, cli));
  addExample(addPaging(list), 'hookferry notifications list --status failed --limit 20');
}

async function listNotifications(flags: NotificationFlags, cli: Cli): Promise<void> {
  const { contact, topic, status } = flags;
  const query = {
    limit: pageSize(flags),
    ...(contact !== undefined && { contact_id: contact }),
    // Which there are is for the API to say.
    ...(topic !== undefined && { topic: topic as Notification['topic'] }),
    ...(status !== undefined && { status: status as Notification['status'] }),
  };
  const client = await connect(cli);
  await printPages(cli, flags, {
    items: client.paginate('/v1/notifications', { params: { query } }),
    columns: NOTIFICATION_COLUMNS,
    ifNone: 'There are none.',
  });
}
