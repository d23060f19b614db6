/**
 * The settings of a webhook that are plain values. All that has to do with one follows from its entry here: the schemas
 * (`setting-schemas.ts`), the description of the API, the flags of the command line, the cases of `conformance/write-bounds.mjs`, and
 * the fields of the portal, which has words for each in the viewer's language. Nothing here imports anything: browsers and the command
 * line load it too.
 *
 * Surfaces put some members first or last, in orders of their own. A new setting goes to the end, which is between those.
 */
export const endpointSettings = {
  description: {
    kind: 'text',
    most: 500,
    description: 'A note for people. At most 500 characters.',
    flag: { argument: '<text>', help: 'a note for people' },
  },
  rate_limit: {
    kind: 'number',
    least: 1,
    most: 10_000,
    description: 'The most requests that are sent to it within a second: 1 to 10,000. Default: no limit.',
    flag: { argument: '<n>', help: 'the most requests within a second' },
  },
  max_concurrency: {
    kind: 'number',
    least: 1,
    most: 1_000,
    description:
      'The most attempts that each worker process makes at once: 1 to 1,000. Default: the service measures how many the receiver bears.',
    flag: { argument: '<n>', help: 'the most attempts at once, in each worker' },
  },
  ordering: {
    kind: 'choice',
    // The first is the one of a webhook that has none.
    choices: ['none', 'strict', 'group'],
    description:
      'The order of its deliveries. `none`: deliveries do not wait for each other. `strict`: one at a time, in the order in which the events were accepted. `group`: the same within each `group` of events, while groups do not wait for each other. Default: `none`.',
    flag: {
      argument: '<kind>',
      help: 'strict: one at a time, in order; group: the same within each group',
    },
  },
  uid: {
    kind: 'uid',
    description:
      'An id of your own, which works wherever its id does: 1 to 128 letters, digits, `_`, `.` and `-`. It must not begin with `wh_`.',
    flag: { argument: '<name>', help: 'an id of your own, which works wherever its id does' },
  },
  timeout_ms: {
    kind: 'number',
    least: 1_000,
    most: 60_000,
    description:
      'How many milliseconds an attempt may take: 1,000 to 60,000. Default: `DELIVERY_TIMEOUT` of the service.',
    flag: { argument: '<n>', help: 'how many milliseconds an attempt may take' },
  },
  retry_schedule: {
    kind: 'delays',
    description:
      'The delays between attempts, such as `5m`: 1 to 30 of them, each at most `7d`. There is one attempt more than delays. With their jitter, all of them end within `RETENTION` of the service. Default: `RETRY_SCHEDULE` of the service.',
    flag: { argument: '<delays>', help: 'the delays between attempts, such as 5s,1m,1h' },
  },
  signing: {
    kind: 'choice',
    choices: ['hmac', 'ed25519', 'both'],
    description:
      'How its requests are signed. `hmac`: with its secret. `ed25519`: with the private key of its account. `both`: with both. Default: `default_signing` of its account.',
    flag: { argument: '<kind>', help: 'hmac, ed25519 (a key pair), or both' },
  },
  format: {
    kind: 'choice',
    choices: ['native', 'cloudevents_structured', 'cloudevents_binary', 'cloudevents_batch'],
    description:
      'The format of its requests. `native`: a JSON object with `type` and `data`. `cloudevents_structured`: a CloudEvent in JSON. `cloudevents_binary`: the data as the body and the attributes as headers, which no signature covers. `cloudevents_batch`: a list of CloudEvents in JSON. Default: `native`.',
    flag: {
      argument: '<kind>',
      help: 'native, cloudevents_structured, cloudevents_binary or cloudevents_batch',
    },
  },
  cloudevents: {
    kind: 'group',
    description: 'How its CloudEvents are made. Without effect if `format` is `native`.',
    members: {
      source: {
        kind: 'text',
        most: 2_048,
        form: {
          pattern: "^[A-Za-z0-9._~:/?#@!$&'()*+,;=%[\\]-]+$",
          message: 'must be a URI or a URI reference, such as https://shop.example.com/orders',
        },
        sample: 'https://shop.example.com/orders',
        description:
          'The `source` of its CloudEvents: a URI reference of at most 2,048 characters. Default: that of its account, else that of the service.',
        flag: { argument: '<uri>', help: 'the source of its CloudEvents' },
      },
      type_prefix: {
        kind: 'text',
        most: 100,
        form: {
          pattern: '^[A-Za-z0-9][A-Za-z0-9._/:-]*$',
          message: 'must be of A-Z a-z 0-9 . _ / : - and begin with a letter or digit, such as com.example.',
        },
        sample: 'com.example.',
        description:
          'A prefix for the `type` of its CloudEvents, such as `com.example.`. At most 100 characters. Default: none.',
        flag: { argument: '<text>', help: 'a prefix for the type of its CloudEvents, such as com.example.' },
      },
      subject_pointer: {
        kind: 'text',
        most: 500,
        form: {
          pattern: '^(/([^~/]|~[01])*)+$',
          message: 'must be a JSON Pointer into the data, such as /order/id',
        },
        sample: '/order/id',
        description:
          'Where the `subject` of its CloudEvents is in the data: a JSON Pointer (RFC 6901) to a string or a number. An event without one at this position has no subject. Default: no subject.',
        flag: { argument: '<pointer>', help: 'where their subject is in the data, such as /order/id' },
      },
    },
  },
  batch: {
    kind: 'group',
    description:
      'Sends several events in one request, as a list, once one of its members is set. With `ordering` `group`, a request has events of one group. Default: one event in each request.',
    members: {
      max_events: {
        kind: 'number',
        least: 1,
        most: 100,
        description: 'The most events in one request: 1 to 100. Default: 100.',
        flag: { argument: '<n>', help: 'the most events in one request' },
      },
      max_wait_ms: {
        kind: 'number',
        least: 0,
        most: 60_000,
        description:
          'How many milliseconds an event waits for others: 0 to 60,000. Default: 0, which takes only events that wait anyway.',
        flag: { argument: '<n>', help: 'how many milliseconds an event waits for others' },
      },
      max_bytes: {
        kind: 'number',
        least: 1_024,
        most: 1_048_576,
        description:
          'The most bytes in the body of a request with several events: 1,024 to 1,048,576. A larger event is sent alone. Default: 1,048,576.',
        flag: { argument: '<n>', help: 'the most bytes in a request with several events' },
      },
    },
  },
  rate_limit_unit: {
    kind: 'choice',
    choices: ['requests', 'events'],
    description:
      'What `rate_limit` counts when requests carry several events: the requests, or the events in them. Default: `requests`.',
    flag: { argument: '<unit>', help: 'what the rate limit counts: requests or events' },
  },
  coalesce: {
    kind: 'group',
    description:
      'Of the events of a group that wait, only the newest is sent; the deliveries of the others end as `superseded`. Needs `ordering` to be `group`, no `batch`, and a `format` other than `cloudevents_batch`. Default: all events are sent.',
    members: {
      window_ms: {
        kind: 'number',
        least: 1,
        most: 3_600_000,
        description:
          'How many milliseconds the first event of a group waits for newer ones: 1 to 3,600,000 (1 hour).',
        flag: { argument: '<n>', help: 'send only the newest event of a group within so many milliseconds' },
      },
    },
  },
  while_disabled: {
    kind: 'choice',
    choices: ['hold', 'discard'],
    description:
      'What happens to its deliveries while it is disabled. `hold`: they wait, and are sent once it is enabled. `discard`: each ends as `cancelled`, with the reason `discarded`, when it is due; a replay can send it later. Those that were held before, or that somebody redelivered or replayed, are held in both cases, and so are all while the operator has paused the account. Default: `hold`.',
    flag: {
      argument: '<kind>',
      help: 'hold or discard: what happens to its deliveries while it is disabled',
    },
  },
} as const satisfies Readonly<Record<string, Setting>>;

interface SettingTexts {
  /** What the API's description says of it: what it is, its unit, its bounds and its default. */
  readonly description: string;
  /** Of the command line; its name follows from the member's. */
  readonly flag: { readonly argument: string; readonly help: string };
}

/** A setting that is one value. */
export type PlainSetting = SettingTexts &
  (
    | { readonly kind: 'number'; readonly least: number; readonly most: number }
    | { readonly kind: 'text'; readonly most: number; readonly form?: TextForm; readonly sample?: string }
    | { readonly kind: 'choice'; readonly choices: readonly [string, ...string[]] }
    | { readonly kind: 'delays' }
    | { readonly kind: 'uid' }
  );

/** What a text must look like, and what is said of one that does not. */
interface TextForm {
  readonly pattern: string;
  readonly message: string;
}

/** A setting that is an object: each member may be absent, and is a field, a fact and a flag of its own. */
interface GroupSetting {
  readonly kind: 'group';
  readonly description: string;
  readonly members: Readonly<Record<string, Extract<PlainSetting, { kind: 'text' | 'number' }>>>;
}

export type Setting = PlainSetting | GroupSetting;

export type EndpointSettings = typeof endpointSettings;

/** A setting as it is called on the wire. */
export type SettingName = keyof EndpointSettings;

export const settingNames = Object.keys(endpointSettings) as readonly SettingName[];

export function settingOf(name: SettingName): Setting {
  return endpointSettings[name];
}

/** All settings but `apart`, which a surface puts at other places. */
export function settingsBut<Name extends SettingName>(...apart: readonly Name[]) {
  return settingNames.filter((name): name is Exclude<SettingName, Name> => !apart.includes(name as Name));
}

type FieldsOf<Name extends SettingName> = EndpointSettings[Name] extends { readonly members: infer Members }
  ? `${Name}_${Extract<keyof Members, string>}`
  : Name;

/** A setting that is one value, or a member of a group, such as `cloudevents_source`. */
export type FieldName = { [Name in SettingName]: FieldsOf<Name> }[SettingName];

/** What forms, pages and flags show each by itself. */
export interface SettingPart {
  readonly name: FieldName;
  /** Where its value is in a webhook: the name of a setting, and of a member if that is a group. */
  readonly path: readonly [SettingName, string?];
  readonly setting: PlainSetting;
}

/** The parts of these settings: of a group its members, in its place. */
export function partsOf(names: readonly SettingName[]): readonly SettingPart[] {
  return names.flatMap((name): readonly SettingPart[] => {
    const setting = settingOf(name);
    if (setting.kind !== 'group') return [{ name: name as FieldName, path: [name], setting }];
    return Object.entries(setting.members).map(([member, each]) => ({
      name: `${name}_${member}` as FieldName,
      path: [name, member],
      setting: each,
    }));
  });
}

type Settings = { readonly [Name in SettingName]?: unknown };

type PartValue = string | number | readonly string[] | undefined;

/** The value of a part; `undefined` where there is none. */
export function valueAt(settings: Settings, [name, member]: SettingPart['path']): PartValue {
  const value = settings[name];
  const found =
    member === undefined ? value : (value as Record<string, unknown> | null | undefined)?.[member];
  return (found ?? undefined) as PartValue;
}

/** Settings made of their parts: a group has those members that have a value. */
export function withParts(
  parts: readonly (readonly [path: SettingPart['path'], value: unknown])[],
): Readonly<Record<string, unknown>> {
  const settings: Record<string, unknown> = {};
  for (const [[name, member], value] of parts) {
    if (value === undefined) continue;
    settings[name] = member === undefined ? value : { ...(settings[name] as object), [member]: value };
  }
  return settings;
}

/** `timeout_ms` gives `timeoutMs`: members are called so in code. */
export type CamelCase<Name> = Name extends `${infer First}_${infer Rest}`
  ? `${First}${Capitalize<CamelCase<Rest>>}`
  : Name;

export function camelCase<Name extends string>(name: Name): CamelCase<Name> {
  return name.replaceAll(/_([a-z])/g, (_match, letter: string) => letter.toUpperCase()) as CamelCase<Name>;
}
