import type { Contact } from '../domain/contact';
import type { DeliveryRequest, Transport } from '../domain/transport';
import type { Clock } from '../platform/clock';
import { formatTime } from '../platform/clock';
import { type ComposedMessage, linesOf } from './compose-message';
import type { Mailer, SendOutcome } from './nodemailer-mailer';

export interface SenderParts {
  readonly transport: Transport;
  /** Absent: there is no SMTP server. */
  readonly mailer: Mailer | undefined;
  readonly userAgent: string;
  readonly clock: Clock;
}

const TIMEOUT_MS = 10_000;
const RESPONSE_BYTES = 256;

/** Send a message to a contact once. Requests go the way of every delivery: to allowed addresses only, without redirects. */
export async function sendNotification(
  parts: SenderParts,
  contact: Contact,
  message: ComposedMessage,
  id: string,
  abortSignal: AbortSignal,
): Promise<SendOutcome> {
  if (contact.kind === 'email') {
    if (!parts.mailer) return { kind: 'failed', error: 'no SMTP_URL', isForGood: false };
    return await parts.mailer.send(contact.target, message, id, abortSignal);
  }
  const result = await parts.transport(requestOf(parts, contact, message, id), abortSignal);
  if (result.kind === 'unsent') return { kind: 'failed', error: 'unsent', isForGood: false };
  if (result.kind === 'failed') return { kind: 'failed', error: result.reason, isForGood: false };
  if (result.status >= 200 && result.status <= 299) return { kind: 'sent' };
  return { kind: 'failed', error: `http ${result.status}`, isForGood: result.status === 410 };
}

function requestOf(
  { userAgent, clock }: SenderParts,
  contact: Contact,
  message: ComposedMessage,
  id: string,
): DeliveryRequest {
  return {
    url: contact.target,
    headers: { 'content-type': 'application/json', 'user-agent': userAgent },
    body: JSON.stringify(bodyOf(contact, message, id, clock())),
    timeoutMs: TIMEOUT_MS,
    responseBytes: RESPONSE_BYTES,
  };
}

/** Discord's limit; the others take more. */
const MAX_CHARACTERS = 2_000;

function bodyOf(contact: Contact, message: ComposedMessage, id: string, now: number): object {
  const { subject, link, unsubscribeLink } = message;
  const lines = linesOf(message);
  const ending = `\n\n${link}\nTo get no more messages: ${unsubscribeLink}`;
  const text = shortened(lines.join('\n'), MAX_CHARACTERS - ending.length) + ending;
  switch (contact.kind) {
    case 'slack':
      return { text: escapeSlack(text), mrkdwn: false };
    case 'discord':
      // Nobody is mentioned, whatever a name says.
      return { content: text, allowed_mentions: { parse: [] } };
    case 'teams':
      return teamsCard(subject, text);
    case 'webhook':
    case 'email':
      return {
        type: 'notification',
        data: {
          id,
          sent_at: formatTime(now),
          subject,
          text: lines.join('\n'),
          link,
          unsubscribe: unsubscribeLink,
        },
      };
  }
}

function teamsCard(subject: string, text: string): object {
  const block = (content: string, weight?: 'bolder') => ({
    type: 'TextBlock',
    text: content,
    wrap: true,
    ...(weight === undefined ? {} : { weight }),
  });
  return {
    type: 'message',
    attachments: [
      {
        contentType: 'application/vnd.microsoft.card.adaptive',
        content: {
          $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
          type: 'AdaptiveCard',
          version: '1.4',
          body: [block(subject, 'bolder'), ...text.split('\n').map((line) => block(line || ' '))],
        },
      },
    ],
  };
}

function shortened(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, Math.max(most - 1, 0))}…`;
}

// The three characters that Slack takes for its own.
function escapeSlack(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
