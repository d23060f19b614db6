import { z } from 'zod';
import { sentDurationSchema } from '../platform/duration';
import { textSchema } from '../platform/zod-words';
import {
  type CamelCase,
  camelCase,
  type EndpointSettings,
  endpointSettings,
  type PlainSetting,
  type Setting,
  type SettingName,
  settingNames,
  settingOf,
} from './endpoint-settings';

const UID_FORM = 'must be 1 to 128 of A-Z a-z 0-9 _ . - and begin with a letter or digit, but not with "wh_"';

/** A name that the client gave its endpoint, unique in the account: usable wherever its id is. */
export const endpointUidSchema = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$/, UID_FORM)
  .refine((uid) => !uid.startsWith('wh_'), UID_FORM)
  // Not as a look-ahead in the pattern: many generators of code know none.
  .meta({ not: { pattern: '^wh_' } })
  .brand<'EndpointUid'>();
export type EndpointUid = z.infer<typeof endpointUidSchema>;

const MAX_DELAYS = 30;
const MAX_DELAY_MS = 7 * 86_400_000;

const delaysSchema = z
  .array(
    sentDurationSchema
      .refine((delayMs) => delayMs <= MAX_DELAY_MS, 'must be at most 7d')
      .meta({ description: 'At most `7d`.', example: '5m' }),
  )
  .min(1, 'must have at least one delay: there is one attempt more than delays')
  .max(MAX_DELAYS, `must have at most ${MAX_DELAYS} delays`);

// As clients send it (`sent`, and in a patch `patched` where that differs), as it stands in a record (`stored`), and as
// clients get it (`shown`).
const ofKind = {
  number: ({ least, most }: Extract<PlainSetting, { kind: 'number' }>) => ({
    sent: z.int().min(least).max(most),
    stored: z.number().optional(),
    shown: z.int().nullable(),
  }),
  text: ({ most, form }: Extract<PlainSetting, { kind: 'text' }>) => ({
    sent: form ? textSchema(most).regex(new RegExp(form.pattern), form.message) : textSchema(most),
    stored: z.string().optional(),
    shown: z.string().nullable(),
  }),
  delays: () => ({
    sent: delaysSchema,
    // Milliseconds.
    stored: z.array(z.number()).readonly().optional(),
    shown: z.array(z.string().meta({ example: '5m' })).nullable(),
  }),
  uid: () => ({
    sent: endpointUidSchema,
    stored: endpointUidSchema.optional(),
    shown: z.string().nullable(),
  }),
};

function ofChoice<const Choices extends readonly string[]>(choices: Choices) {
  const choice = z.enum(choices);
  // A record that lacks it has the first. Records of earlier versions have hyphens, as in `cloudevents-batch`.
  const stored = z.preprocess(inSnakeCase, choice.default(choices[0] as never));
  return { sent: choice, stored, shown: choice };
}

function inSnakeCase(value: unknown): unknown {
  return typeof value === 'string' ? value.replaceAll('-', '_') : value;
}

type GroupMembers = Extract<Setting, { kind: 'group' }>['members'];
type MemberSchemas<Member> = Member extends { readonly kind: infer Kind extends 'number' | 'text' }
  ? ReturnType<(typeof ofKind)[Kind]>
  : never;
type Optional<Members extends GroupMembers, As extends Form> = {
  readonly [Name in keyof Members]: z.ZodOptional<MemberSchemas<Members[Name]>[As]>;
};
type Shown<Members extends GroupMembers> = {
  readonly [Name in keyof Members]: MemberSchemas<Members[Name]>['shown'];
};
type Nullish<Members extends GroupMembers> = {
  readonly [Name in keyof Members]: z.ZodOptional<z.ZodNullable<MemberSchemas<Members[Name]>['sent']>>;
};

// The members keep their names in the record.
function ofGroup<Members extends GroupMembers>(members: Members) {
  const as = (schemaOf: (member: GroupMembers[string]) => z.ZodType): unknown =>
    Object.fromEntries(Object.entries(members).map(([name, member]) => [name, schemaOf(member)]));
  const optional = <As extends Form>(form: As) =>
    as((member) => described(member, schemasOf(member)[form].optional())) as Optional<Members, As>;
  const shown = as((member) => described(member, schemasOf(member).shown)) as Shown<Members>;
  return {
    sent: z.strictObject(optional('sent')),
    patched: z.strictObject(
      as((member) => described(member, schemasOf(member).sent.nullish())) as Nullish<Members>,
    ),
    stored: z.object(optional('stored')).optional(),
    shown: z.object(shown).nullable(),
  };
}

function described<Schema extends z.ZodType>({ description }: Setting, schema: Schema): Schema {
  return schema.describe(description);
}

function schemasOf(setting: Setting): Schemas {
  switch (setting.kind) {
    case 'number':
      return ofKind.number(setting);
    case 'text':
      return ofKind.text(setting);
    case 'choice':
      return ofChoice(setting.choices);
    case 'delays':
    case 'uid':
      return ofKind[setting.kind]();
    case 'group':
      return ofGroup(setting.members);
  }
}

interface Schemas extends Record<Form, z.ZodType> {
  readonly patched?: z.ZodType;
}

type SchemasOf<Of> = Of extends { readonly choices: infer Choices extends readonly string[] }
  ? ReturnType<typeof ofChoice<Choices>>
  : Of extends { readonly members: infer Members extends GroupMembers }
    ? ReturnType<typeof ofGroup<Members>>
    : Of extends { readonly kind: infer Kind extends keyof typeof ofKind }
      ? ReturnType<(typeof ofKind)[Kind]>
      : never;

type Form = 'sent' | 'stored' | 'shown';
type SchemaOf<Name extends SettingName, As extends Form> = SchemasOf<EndpointSettings[Name]>[As];
type PatchedOf<Of> = Of extends { readonly patched: infer Patched }
  ? Patched
  : Of extends { readonly sent: infer Sent }
    ? Sent
    : never;

/** The `source` of CloudEvents. */
export const cloudEventsSourceSchema = ofKind.text(endpointSettings.cloudevents.members.source).sent;

const schemas = new Map(settingNames.map((name) => [name, schemasOf(settingOf(name))]));

function membersAs(form: Form, nameOf: (name: SettingName) => string = (name) => name): object {
  return Object.fromEntries(
    [...schemas].map(([name, { [form]: schema }]) => [nameOf(name), described(settingOf(name), schema)]),
  );
}

/** The members of requests that patch; `null` removes one. */
export const patchedSettings = Object.fromEntries(
  [...schemas].map(([name, each]) => [name, described(settingOf(name), each.patched ?? each.sent)]),
) as { readonly [Name in SettingName]: PatchedOf<SchemasOf<EndpointSettings[Name]>> };

/** The members of requests that create. */
export const sentSettings = membersAs('sent') as { readonly [Name in SettingName]: SchemaOf<Name, 'sent'> };

/** The members of responses. */
export const shownSettings = membersAs('shown') as {
  readonly [Name in SettingName]: SchemaOf<Name, 'shown'>;
};

/** The members of an endpoint's record, by their names in code. */
export const storedSettings = membersAs('stored', camelCase) as {
  readonly [Name in SettingName as CamelCase<Name>]: SchemaOf<Name, 'stored'>;
};
