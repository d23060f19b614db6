import {
  camelCase,
  partsOf,
  type SettingName,
  type SettingPart,
  settingNames,
  settingsBut,
  withParts,
} from '@hookferry/core/domain/endpoint-settings';
import { authKindOf, authTypes } from '@hookferry/core/domain/receiver-auth/kinds';
import { type Command, Option } from 'commander';
import { UsageError } from '../../failures/usage-error';
import {
  type Pairs,
  parseCount,
  parseHeader,
  parseList,
  parseMember,
  parsePositive,
} from '../../input/parse-flags';
import type { Prompt } from '../../input/prompt';
import { readData } from '../../input/read-data';
import type { NewWebhook } from '../../resources';

/** The flags for new and for existing webhooks. Settings have their names in code. */
export interface EndpointFlags {
  readonly events?: readonly string[];
  readonly filter?: string;
  readonly auth?: string;
  readonly header?: Pairs;
  readonly metadata?: Pairs;
  readonly verification?: string;
  readonly data?: string;
  readonly [setting: string]: unknown;
}

// As `--help` lists them: around the flags of headers and metadata.
const FIRST = ['description', 'uid'] as const;
const REST = [...settingsBut(...FIRST, 'ordering'), 'ordering'] as const;

const AUTH_NAMES = new Intl.ListFormat('en-GB', { type: 'disjunction' }).format(
  authTypes.map((type) => authKindOf(type).name),
);

const METHODS = ['challenge', 'cloudevents'] satisfies NonNullable<NewWebhook['verification']>[];

export function addEndpointFlags(command: Command): Command {
  command
    .option(
      '--events <types>',
      'the event types that it gets: names, prefixes such as "order.*", or "*", separated by commas',
      parseList,
    )
    .option('--filter <json>', "a filter on the data of events: JSON, @FILE or '-'; null removes it");
  for (const part of partsOf(FIRST)) command.addOption(flagOf(part));
  command
    .option('--header <"name: value">', 'a header for each delivery; may be repeated', parseHeader)
    .option('--metadata <name=value>', 'a note of your own; may be repeated', parseMember)
    .option(
      '--auth <json>',
      `how requests authenticate at the receiver: ${AUTH_NAMES}, as in the API. JSON, @FILE or '-'; null removes`,
    );
  for (const part of partsOf(REST)) command.addOption(flagOf(part));
  command.addOption(
    new Option('--verification <kind>', 'how the receiver confirms that it wants the requests').choices(
      METHODS,
    ),
  );
  return command.option(
    '--data <json>',
    "members as the API takes them; other flags override them. JSON, @FILE or '-'",
  );
}

export function flagOf({ name, setting }: SettingPart): Option {
  const { argument, help } = setting.flag;
  const option = new Option(`--${name.replaceAll('_', '-')} ${argument}`, help);
  switch (setting.kind) {
    case 'number':
      return option.argParser(setting.least === 0 ? parseCount : parsePositive);
    case 'choice':
      return option.choices(setting.choices);
    case 'delays':
      return option.argParser(parseList);
    case 'text':
    case 'uid':
      return option;
  }
}

/** The members that the flags say, over those of `--data`. @throws UsageError. */
export async function membersOf(
  flags: EndpointFlags,
  prompt: Prompt,
): Promise<Readonly<Record<string, unknown>>> {
  const members = {
    events: flags.events,
    filter: await jsonOf(flags.filter, prompt, '--filter'),
    auth: await jsonOf(flags.auth, prompt, '--auth'),
    headers: flags.header,
    metadata: flags.metadata,
    verification: flags.verification,
    ...settingsIn(flags, settingNames),
  };
  const said = Object.entries(members).filter(([, value]) => value !== undefined);
  return { ...(await membersOfData(flags.data, prompt)), ...Object.fromEntries(said) };
}

/** Those of these settings that the flags say. */
export function settingsIn(
  flags: Readonly<Record<string, unknown>>,
  names: readonly SettingName[],
): Readonly<Record<string, unknown>> {
  return withParts(partsOf(names).map(({ name, path }) => [path, flags[camelCase(name)]]));
}

async function jsonOf(given: string | undefined, prompt: Prompt, flag: string): Promise<unknown> {
  return given === undefined ? undefined : (await readData(given, prompt, flag)).value;
}

async function membersOfData(given: string | undefined, prompt: Prompt): Promise<object> {
  if (given === undefined) return {};
  const { value } = await readData(given, prompt);
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value;
  throw new UsageError(
    '--data must be a JSON object.',
    'Give members of a webhook, such as \'{"rate_limit":20}\'.',
  );
}
