import type { components } from '@hookferry/client';
import { t } from '@lingui/core/macro';
import { isolated } from '../language/formats';
import { language } from '../language/language';
import { ProblemError } from './problem';

type Fault = components['schemas']['Fault'];

/** What is right for a member, by its place: most of these the service refuses for several reasons, which it gives in English. */
const RIGHT: readonly (readonly [pointer: RegExp, words: string])[] = [
  [/^\/url/, t`must be an HTTPS address that the service can reach from the internet`],
  [/^\/address/, t`must be an email address`],
  [/^\/(description|name|reason|uid|label)$/, t`must be a text that is not too long`],
  [/^\/events/, t`must name event types of the catalogue`],
  [/^\/filter/, t`must be conditions on the data of events`],
  [/^\/headers/, t`must have a name and a value that HTTP allows, and none that the service sets itself`],
  [/^\/metadata/, t`must be a few short names and values`],
  [/^\/auth/, t`must be complete, and in the form that the kind of authentication asks for`],
  [/^\/tls/, t`must be certificates and keys as PEM, which belong together`],
  [
    /^\/(ordering|batch|coalesce|format|signing)/,
    t`must be a choice that goes together with the other settings`,
  ],
  [/^\/type/, t`must be an event type of the catalogue`],
  [/^\/(data|example|payload)/, t`must fit the schema of its event type`],
  [/^\/schema/, t`must be a JSON Schema`],
  [/^\/(webhook_ids|webhook_id|event_id)/, t`must be the id of one that exists`],
  [/^(\/|\?\/)(deliver_at|since|until|expires_at)/, t`must be a time that is possible here`],
  [/^\/scopes/, t`must be at least one of those that exist`],
  [
    /^\/(rate_limit|max_concurrency|rate|weight|quota_bytes|timeout_ms)/,
    t`must be a number within its bounds`,
  ],
];

const NOT_ACCEPTED = t`is not accepted as it is`;

/** The fault in the viewer's language, then in English: that a text is found by the place of the fault, and not by its words, keeps it true. */
export function inViewersWords(fault: Fault): Fault {
  // Errors of code are in English everywhere.
  if (language === 'en' || fault.pointer === '/code') return fault;
  const [, words] = RIGHT.find(([pointer]) => pointer.test(fault.pointer)) ?? [];
  const detail = isolated(fault.detail);
  return { ...fault, detail: `${words ?? NOT_ACCEPTED} (${t`in English: ${detail}`})` };
}

/** The titles of the usual refusals, by their code. */
const TITLES: Partial<Record<ProblemError['code'], string>> = {
  not_found: t`It is not there`,
  conflict: t`That does not go together with what is there`,
  event_id_conflict: t`Another event has this id`,
  payload_erased: t`The payload of the event was erased`,
  already_due: t`The event is due already`,
  request_in_progress: t`The same request is still being carried out`,
  last_admin_key: t`It is the last key that may do everything`,
  limit_reached: t`There are as many as there may be`,
  replays_running: t`There are as many replays as may run at once`,
  quota_exceeded: t`The account stores as much as it may`,
  payload_too_large: t`That is too large`,
  malformed_json: t`This is not JSON.`,
  deliver_at_in_past: t`The time to send it is over`,
  deliver_at_too_far: t`The time to send it is too far away`,
  rate_limited: t`Too many requests`,
  secret_unreadable: t`Its secrets can’t be read`,
  internal_error: t`The service has a fault`,
  storage_unavailable: t`The service can’t store or read anything at the moment`,
  history_unavailable: t`The history can’t be read at the moment`,
};

/** A refusal with its title and its faults in the viewer's language. The detail names the case and its figures, and stays as the service wrote it. */
export function wordsFor(problem: ProblemError): ProblemError {
  const { title, detail, status, code, requestId, validationErrors, retryAt } = problem;
  const faults = validationErrors.map(inViewersWords);
  return new ProblemError(
    TITLES[code] ?? title,
    detail,
    status,
    code,
    requestId,
    faults,
    { cause: problem.cause },
    retryAt,
  );
}
