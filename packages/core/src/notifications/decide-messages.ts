import type { Contact, Digest, Occasion, Subject } from '../domain/contact';
import type { Finding, Observation, Remembered } from './observe-account';
import { checkedEveryMs, decodeRate, encodeRate, type RatePolicy } from './success-rate';

/** The last state that contacts got a message about, by occasion and subject: see `fieldOf`. */
export type NotifiedFields = Readonly<Record<string, string>>;

/** One message for all that is new of an occasion. */
export interface Message {
  readonly occasion: Occasion;
  readonly findings: readonly Finding[];
}

export interface Decision {
  readonly set: Readonly<Record<string, string>>;
  readonly del: readonly string[];
  readonly messages: readonly Message[];
}

/** Findings wait for others of their occasion for so long: what goes wrong together is told together. */
const WINDOW_MS = 60_000;
const QUIET_MS = 10 * 60_000;
const DAY_MS = 24 * 3_600_000;

/**
 * After a message the next one of the same occasion waits for so long, whatever happens: a storm is a message, and then
 * one with all that came meanwhile.
 */
function quietMsOf(occasion: Occasion): number {
  return DAILY.includes(occasion) ? DAY_MS : QUIET_MS;
}

const DAILY: readonly Occasion[] = ['quota_80', 'quota_100', 'dead_letters'];

// Contacts are told once that it is over, and only then it can be forgotten.
const UNTIL_RECOVERED: readonly string[] = ['failing', 'disabled'];
const BEGUN = 'begun';
const SENT = 'sent';
const RATE = 'rate';
/** When the rates were looked at last. */
const RATES_READ = 'rates-read';

/** The messages about an account now, and the state to remember. */
export function decideMessages(observation: Observation, notified: NotifiedFields, now: number): Decision {
  const { findings } = observation;
  const del = Object.keys(notified).filter((field) => isObsolete(field, observation));
  const rates = ratesOf(observation, notified, now);
  // A state from before there were contacts makes no message.
  if (notified[BEGUN] === undefined) {
    return { set: { [BEGUN]: '1', ...rates, ...episodesOf(findings) }, del, messages: [] };
  }
  const fresh = findings.filter((finding) => notified[fieldOf(finding)]?.split(' ')[0] !== finding.episode);
  const messages = messagesOf(fresh, notified, now);
  const findingsSent = messages.flatMap((message) => message.findings);
  const ended = findingsSent
    .filter(({ occasion }) => occasion === 'recovered')
    .flatMap(({ about }) => UNTIL_RECOVERED.map((occasion) => `${occasion} ${about}`));
  const sentAt = messages.map(({ occasion }) => [`${SENT} ${occasion}`, String(now)] as const);
  const set = {
    ...rates,
    ...episodesOf(findingsSent.filter(({ occasion }) => occasion !== 'recovered')),
    ...Object.fromEntries(sentAt),
  };
  return {
    set,
    del: [...del, ...ended],
    messages: messages.filter(({ occasion }) => !isPassed(occasion, messages)),
  };
}

/** The account's endpoints, as the earlier checks found them. */
export function rememberedIn(notified: NotifiedFields, policy: RatePolicy, now: number): Remembered {
  const rates = Object.entries(notified).flatMap(([field, text]) => {
    const [kind, about = ''] = field.split(' ');
    return kind === RATE ? [[about, decodeRate(text)] as const] : [];
  });
  const readAt = Number(notified[RATES_READ] ?? 0);
  return {
    troubles: troublesOf(notified),
    rates: new Map(rates),
    areRatesDue: policy.below > 0 && now - readAt >= checkedEveryMs(policy),
  };
}

/** The rates that have changed, and when they were looked at if that was now. */
function ratesOf(
  { rates, areRatesNew }: Observation,
  notified: NotifiedFields,
  now: number,
): Record<string, string> {
  if (!areRatesNew) return {};
  const states = [...rates].map(([about, state]) => [`${RATE} ${about}`, encodeRate(state)] as const);
  const changed = states.filter(([field, text]) => notified[field] !== text);
  return { [RATES_READ]: String(now), ...Object.fromEntries(changed) };
}

/** The endpoints that contacts were told are in trouble, and since when. */
function troublesOf(notified: NotifiedFields): ReadonlyMap<string, number> {
  const troubles = new Map<string, number>();
  for (const [field, value] of Object.entries(notified)) {
    const [occasion = '', about = ''] = field.split(' ');
    if (!UNTIL_RECOVERED.includes(occasion)) continue;
    const [episode, since = episode] = value.split(' ');
    troubles.set(about, Math.max(troubles.get(about) ?? 0, Number(since)));
  }
  return troubles;
}

/** Messages that somebody requests for one contact: the question whether it wants any, and a test. */
export const REQUESTED = ['confirmation', 'test'] as const;

/** A message that was requested for a contact, whether it was sent or not. */
export interface RequestedMessage {
  readonly contact: Contact;
  readonly topic: (typeof REQUESTED)[number];
  /** Where it is remembered that it was sent. */
  readonly field: string;
  /** Differs from one request to the next. */
  readonly episode: string;
}

export function requestsOf(contact: Contact): readonly RequestedMessage[] {
  const { id, status, createdAt, askedAt = createdAt, testedAt } = contact;
  const requestOf = (topic: RequestedMessage['topic'], at: number): RequestedMessage => ({
    contact,
    topic,
    field: requestFieldOf(topic, id),
    episode: String(at),
  });
  if (status === 'unconfirmed') return [requestOf('confirmation', askedAt)];
  return status === 'confirmed' && testedAt !== undefined ? [requestOf('test', testedAt)] : [];
}

export function requestFieldOf(topic: RequestedMessage['topic'], id: Contact['id']): string {
  return `${topic} ${id}`;
}

export function isRequestField(field: string): boolean {
  return REQUESTED.some((topic) => field.startsWith(`${topic} `));
}

function messagesOf(fresh: readonly Finding[], notified: NotifiedFields, now: number): readonly Message[] {
  const occasions = [...new Set(fresh.map(({ occasion }) => occasion))];
  return occasions
    .map((occasion) => ({ occasion, findings: fresh.filter((finding) => finding.occasion === occasion) }))
    .filter(({ occasion, findings }) => {
      const firstAt = Math.min(...findings.map(({ at }) => at));
      const lastSentAt = Number(notified[`${SENT} ${occasion}`] ?? 0);
      const windowMs = findings.some(({ about }) => about !== '') ? WINDOW_MS : 0;
      return now - firstAt >= windowMs && now - lastSentAt >= quietMsOf(occasion);
    });
}

// An account that has used all of its quota gets no message about four fifths.
function isPassed(occasion: Occasion, messages: readonly Message[]): boolean {
  return occasion === 'quota_80' && messages.some((message) => message.occasion === 'quota_100');
}

function isObsolete(field: string, { findings, endpointIds, rates }: Observation): boolean {
  const [occasion = '', about = ''] = field.split(' ');
  if ([BEGUN, SENT, RATES_READ].includes(occasion) || isRequestField(field)) return false;
  if (occasion === RATE) return !rates.has(about);
  if (UNTIL_RECOVERED.includes(occasion)) return !endpointIds.has(about);
  return !findings.some((finding) => fieldOf(finding) === field);
}

function episodesOf(findings: readonly Finding[]): Record<string, string> {
  return Object.fromEntries(
    findings.map((finding) => {
      const { episode, since } = finding;
      return [fieldOf(finding), since === undefined ? episode : `${episode} ${since}`];
    }),
  );
}

function fieldOf({ occasion, about }: Finding): string {
  return `${occasion} ${about}`;
}

/** The part of a message that a contact wants; empty: nothing. */
export function subjectsFor(contact: Contact, { occasion, findings }: Message): readonly Subject[] {
  if (contact.status !== 'confirmed' || contact.occasions?.includes(occasion) === false) return [];
  const subjects = findings.map(({ subject }) => subject);
  if (contact.endpointId === undefined) return subjects;
  return subjects.filter(({ endpointId }) => endpointId === contact.endpointId);
}

const DIGEST_MS: Readonly<Record<Digest, number>> = { hourly: 3_600_000, daily: DAY_MS };

/** When a contact gets new messages: at once, or together at the next full hour or day (UTC). */
export function dueAtFor({ digest }: Contact, now: number): number {
  if (digest === undefined) return now;
  return (Math.floor(now / DIGEST_MS[digest]) + 1) * DIGEST_MS[digest];
}
