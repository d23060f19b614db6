import {
  type CamelCase,
  camelCase,
  type FieldName,
  type PlainSetting,
  partsOf,
  type SettingName,
  settingNames,
  valueAt,
  withParts,
} from '@hookferry/core/domain/endpoint-settings';
import type { NewWebhook, Webhook } from '../../api/webhook-queries';
import { type AuthDraft, authDraftOf, authOf, NO_AUTH } from './auth-draft';

/** A row of a form's names and values. */
export interface Pair {
  /** Stays the same while it is typed. */
  readonly key: number;
  readonly name: string;
  readonly value: string;
}

/** Plain settings as they stand in a form: each a text, which is empty where it is left out. */
type DraftSettings = { readonly [Name in FieldName as CamelCase<Name>]: string };

/** A webhook as it stands in a form: what can be left empty is an empty text then. */
export interface Draft extends DraftSettings {
  readonly url: string;
  readonly events: readonly string[];
  /** JSON, perhaps not yet whole. */
  readonly filter: string;
  readonly headers: readonly Pair[];
  readonly metadata: readonly Pair[];
  readonly auth: AuthDraft;
}

/** The API shows this in place of a header's value. */
export const MASK = '***';

const PARTS = partsOf(settingNames);

export const emptyDraft: Draft = {
  url: '',
  events: ['*'],
  ...draftSettings({}),
  // As the account has it.
  signing: '',
  filter: '',
  headers: [],
  metadata: [],
  auth: NO_AUTH,
};

export function draftOf(webhook: Webhook): Draft {
  const { url, events, filter, headers, metadata, auth } = webhook;
  return {
    url,
    events,
    ...draftSettings(webhook),
    filter: filter === null ? '' : JSON.stringify(filter, null, 2),
    headers: pairsOf(headers ?? {}),
    metadata: pairsOf(metadata ?? {}),
    auth: authDraftOf(auth),
  };
}

/** The body of a request. A filter that is not JSON is sent as it is: the service says what is wrong with it. */
export function bodyOf(draft: Draft): NewWebhook {
  const { url, events, filter } = draft;
  const auth = authOf(draft.auth);
  return {
    url: url.trim(),
    events: [...events],
    ...(filter.trim() !== '' && { filter: parse(filter) as NonNullable<NewWebhook['filter']> }),
    ...settingsIn(draft),
    ...recordOf('headers', draft.headers),
    ...recordOf('metadata', draft.metadata),
    ...(auth && { auth }),
  };
}

/** The same of a webhook that is to be made: its account may have another usual way to sign. */
export function newBodyOf(draft: Draft): NewWebhook {
  const body = bodyOf(draft);
  return draft.signing === ''
    ? body
    : { ...body, signing: draft.signing as NonNullable<NewWebhook['signing']> };
}

type SentSettings = Pick<NewWebhook, SettingName>;

function draftSettings(webhook: Partial<Pick<Webhook, SettingName>>): DraftSettings {
  const texts = PARTS.map(({ name, path, setting }) => {
    const value = valueAt(webhook, path) ?? usualOf(setting);
    return [camelCase(name), typeof value === 'object' ? value.join(', ') : String(value)];
  });
  return Object.fromEntries(texts) as DraftSettings;
}

function settingsIn(draft: Draft): SentSettings {
  const sent = PARTS.map(({ name, path, setting }) => {
    const text = draft[camelCase(name)];
    return [path, isLeftOut(setting, text) ? undefined : valueOf(setting, text)] as const;
  });
  return withParts(sent);
}

/** The default of a setting, as a placeholder. */
function usualOf(setting: PlainSetting): string {
  return setting.kind === 'choice' ? setting.choices[0] : '';
}

function isLeftOut(setting: PlainSetting, text: string): boolean {
  if (text === '') return true;
  return (setting.kind === 'delays' ? text.trim() : text) === usualOf(setting);
}

function valueOf(setting: PlainSetting, text: string) {
  switch (setting.kind) {
    case 'number':
      return Number(text);
    case 'delays':
      return text.split(',').map((delay) => delay.trim());
    case 'text':
    case 'uid':
    case 'choice':
      return text;
  }
}

function parse(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return json;
  }
}

function pairsOf(record: Readonly<Record<string, string>>): readonly Pair[] {
  return Object.entries(record).map(([name, value], key) => ({ key, name, value }));
}

/** Rows without a name are not there yet. */
function recordOf<Name extends string>(member: Name, pairs: readonly Pair[]) {
  const named = pairs.filter(({ name }) => name.trim() !== '');
  if (named.length === 0) return undefined;
  const record = Object.fromEntries(named.map(({ name, value }) => [name.trim(), value]));
  return { [member]: record } as Record<Name, Record<string, string>>;
}
