import type { EndpointSettings, FieldName } from '@hookferry/core/domain/endpoint-settings';
import { plural, t } from '@lingui/core/macro';
import type { Unit } from '../../components/quantity-field';

interface ShownUnit extends Unit {
  /** A value in it, as `5 seconds`. */
  readonly shown: (value: string) => string;
}

interface Words {
  readonly label: string;
  readonly hint: string;
  /** Of a number that people write in a larger unit than the API's. */
  readonly unit?: ShownUnit;
  /** What stands for each choice. */
  readonly options?: Readonly<Record<string, string>>;
  /** On the page of a webhook, if it is set; without one, it has a place of its own there. */
  readonly fact?: { readonly label: string; readonly shown?: (value: string) => string };
}

/** Those that the form has among the advanced settings. */
export type WordedField = Exclude<FieldName, 'description'>;

/** Each choice has a word. */
type WordsOf<Name> = Name extends keyof EndpointSettings
  ? EndpointSettings[Name] extends { readonly choices: readonly (infer Choice extends string)[] }
    ? Words & { readonly options: Readonly<Record<Choice, string>> }
    : Words
  : Words;

const SECONDS: ShownUnit = {
  name: t`seconds`,
  factor: 1_000,
  shown: (value) => plural(Number(value), { one: '# second', other: '# seconds' }),
};
const KIBIBYTES: ShownUnit = { name: t`KiB`, factor: 1_024, shown: (value) => t`${value} KiB` };

/** The settings of a webhook in the viewer's language. TypeScript says when there is a new one. */
export const settingWords: { readonly [Name in WordedField]: WordsOf<Name> } = {
  rate_limit: {
    label: t`Rate limit, per second`,
    hint: t`The most requests within a second: 1 to 10000. Empty: no limit.`,
    fact: { label: t`Rate limit`, shown: (value) => t`${value} per second` },
  },
  max_concurrency: {
    label: t`Requests at once`,
    hint: t`The most requests of each worker at once: 1 to 1000. Empty: as the service decides.`,
    fact: { label: t`Requests at once`, shown: (value) => t`${value} in each worker` },
  },
  ordering: {
    label: t`Order`,
    hint: t`In order, each delivery waits until the one before it has ended: a failure delays all that follow.`,
    options: {
      none: t`As they come`,
      strict: t`One at a time, in order`,
      group: t`In order within each group of events`,
    },
    fact: { label: t`Order` },
  },
  uid: { label: t`Name of your own (uid)`, hint: t`Works wherever its id does.` },
  timeout_ms: {
    label: t`Time-out`,
    hint: t`How long an attempt may take: 1 to 60 seconds. Empty: the default of the service.`,
    unit: SECONDS,
    fact: { label: t`Time-out` },
  },
  retry_schedule: {
    label: t`Retry schedule`,
    hint: t`The delays between attempts, such as 5s, 5m, 2h. Empty: the default of the service.`,
    fact: { label: t`Retries` },
  },
  signing: {
    label: t`Signatures`,
    hint: t`With the secret, which the receiver has as well, or with a key pair, whose public key the receiver has.`,
    options: {
      hmac: t`With its secret (HMAC)`,
      ed25519: t`With a key pair (Ed25519)`,
      both: t`By both`,
    },
    fact: { label: t`Signatures` },
  },
  format: {
    label: t`Format`,
    hint: t`The format of its requests. The signature covers a whole CloudEvent in one body, but only the data if the attributes are in headers.`,
    options: {
      native: t`Type and data`,
      cloudevents_structured: t`CloudEvents 1.0, in one body`,
      cloudevents_binary: t`CloudEvents 1.0, attributes in headers`,
      cloudevents_batch: t`CloudEvents 1.0, a list of them`,
    },
    fact: { label: t`Format` },
  },
  cloudevents_source: {
    label: t`CloudEvents source`,
    hint: t`A URI for the source of the events. Empty: that of the account or the service.`,
    fact: { label: t`CloudEvents source` },
  },
  cloudevents_type_prefix: {
    label: t`CloudEvents type prefix`,
    hint: t`A prefix for each event type, such as com.example. with its dot. Empty: none.`,
    fact: { label: t`CloudEvents type prefix` },
  },
  cloudevents_subject_pointer: {
    label: t`CloudEvents subject`,
    hint: t`Where it is in the data: a JSON Pointer to a text or a number, such as /order/id. Empty: no subject.`,
    fact: { label: t`CloudEvents subject` },
  },
  batch_max_events: {
    label: t`Events in one request`,
    hint: t`The most events in one request: 1 to 100. If this and the next two are empty, each event has its own request.`,
    fact: { label: t`Events in one request` },
  },
  batch_max_wait_ms: {
    label: t`Wait for others`,
    hint: t`How long an event waits for others: 0 to 60 seconds. Empty: it does not wait.`,
    unit: SECONDS,
    fact: { label: t`Waits for others` },
  },
  batch_max_bytes: {
    label: t`Size of one request`,
    hint: t`The most that a request with several events has: 1 to 1024 KiB. Empty: 1024 KiB.`,
    unit: KIBIBYTES,
    fact: { label: t`Size of one request` },
  },
  rate_limit_unit: {
    label: t`Rate limit counts`,
    hint: t`If requests carry several events: the requests, or the events in them.`,
    options: { requests: t`Requests`, events: t`Events` },
    fact: { label: t`Rate limit counts` },
  },
  coalesce_window_ms: {
    label: t`Coalesce within`,
    hint: t`Only the newest event of a group within this time is sent, up to 3600 seconds. Needs the order within groups. Empty: all are sent.`,
    unit: SECONDS,
    fact: { label: t`Coalesces within` },
  },
  while_disabled: {
    label: t`While it is disabled`,
    hint: t`Discarded deliveries are not sent when it is enabled again. A replay can send them.`,
    options: { hold: t`Hold its deliveries`, discard: t`Discard its deliveries` },
    fact: { label: t`While it is disabled` },
  },
};

/** `undefined`: it is shown apart. */
export function wordsOf(name: FieldName): Words | undefined {
  return name === 'description' ? undefined : settingWords[name];
}
