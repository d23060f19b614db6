import type { Command } from 'commander';
import { type Cli, connect } from '../cli';
import { parseId } from '../input/parse-flags';
import { readData } from '../input/read-data';
import type { Column } from '../output/output';
import type { EventType } from '../resources';
import { addYes, type ConfirmFlags, requireYes } from './confirm';
import { addExample } from './example';
import { addGenerate } from './generate-types';

const COLUMNS: readonly Column<EventType>[] = [
  ['name', ({ name }) => name],
  ['origin', ({ origin }) => origin],
  ['deprecated', ({ deprecated }) => (deprecated ? 'yes' : 'no')],
  ['description', ({ description }) => description],
];

const DETAILS: readonly Column<EventType>[] = [
  ...COLUMNS,
  ['version', ({ version }) => version],
  ['example', ({ example }) => example],
  ['schema', ({ schema }) => schema],
];

export function addTypes(program: Command, cli: Cli): void {
  const types = program.command('types').description('Event types: what can be published.');
  const list = types
    .command('list')
    .description('List all event types.')
    .action(async () => {
      const { data } = await (await connect(cli)).GET('/v1/event-types');
      cli.output.list(data, COLUMNS, 'There are none.');
    });
  addExample(list, 'hookferry types list');
  const show = types
    .command('show')
    .description('Show an event type with its schema and example.')
    .argument('<name>', 'its name', parseId)
    .action(async (name: string) => {
      const client = await connect(cli);
      cli.output.document(
        await client.GET('/v1/event-types/{name}', { params: { path: { name } } }),
        DETAILS,
      );
    });
  addExample(show, 'hookferry types show order.created --json');
  addGenerate(types, cli);
  addPut(types, cli);
  addDelete(types, cli);
}

function addPut(types: Command, cli: Cli): void {
  const put = types
    .command('put')
    .description("Add an event type, or replace one that was added. For operators' keys.")
    .argument('<name>', 'its name: words joined by dots', parseId)
    .requiredOption('--data <json>', "description, schema, example: JSON, @FILE, or '-' for stdin")
    .action((name: string, { data }: { readonly data: string }) => putType(name, data, cli));
  addExample(put, 'hookferry types put invoice.paid --data @invoice-paid.json');
}

async function putType(name: string, given: string, cli: Cli): Promise<void> {
  const { text, value } = await readData(given, cli.prompt);
  const client = await connect(cli, { fetch: (request) => fetch(new Request(request, { body: text })) });
  const body = value as { description: string; schema: boolean | Record<string, unknown>; example: unknown };
  const type = await client.PUT('/v1/event-types/{name}', { params: { path: { name } }, body });
  cli.output.result(type, `The event type ${type.name} is saved, as version ${type.version ?? 1}.`);
}

function addDelete(types: Command, cli: Cli): void {
  const remove = types
    .command('delete')
    .description("Remove an event type that was added. For operators' keys.")
    .argument('<name>', 'its name', parseId)
    .action((name: string, flags: ConfirmFlags) => deleteType(name, flags, cli));
  addExample(addYes(remove), 'hookferry types delete invoice.paid --yes');
}

async function deleteType(name: string, flags: ConfirmFlags, cli: Cli): Promise<void> {
  const client = await connect(cli);
  const path = { params: { path: { name } } };
  if (!flags.yes) {
    const { description } = await client.GET('/v1/event-types/{name}', path);
    await requireYes(cli, flags, `Remove the event type ${name} ("${description}") for all accounts?`);
  }
  await client.DELETE('/v1/event-types/{name}', path);
  cli.output.result({ name, deleted: true }, `Removed the event type ${name}.`);
}
