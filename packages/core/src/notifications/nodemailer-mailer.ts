import { createTransport, type Transporter } from 'nodemailer';
import { escapeHtml } from '../platform/escape-html';
import { answerWithin } from '../platform/timers';
import { type ComposedMessage, linesOf } from './compose-message';

/** The result of a try: sent, to be tried again, or refused for good. `error` has a closed form. */
export type SendOutcome =
  | { readonly kind: 'sent' }
  | { readonly kind: 'failed'; readonly error: string; readonly isForGood: boolean };

export interface MailerOptions {
  /** `smtp://user:password@host:port`, or `smtps:`. */
  readonly smtpUrl: string;
  readonly from: string;
  /** The name of the sender, if `from` has none. */
  readonly senderName?: string | undefined;
  /** For one mail, from the connection to the server's last answer. Milliseconds. */
  readonly timeoutMs?: number;
}

/**
 * Less than the time for which one worker looks at an account: a mail that takes longer would be sent by another worker
 * as well.
 */
const TIMEOUT_MS = 30_000;
/** Without a byte from the server. */
const SILENCE_MS = 10_000;
const TOO_LATE: SendOutcome = { kind: 'failed', error: 'smtp ETIMEDOUT', isForGood: false };
// A server's answer that the same mail gets again whenever it is sent.
const PERMANENT = /^5\d\d$/;

/** Sends mail by the operator's SMTP server. Its password is in no error and no log. */
export class Mailer {
  readonly #transporter: Transporter;

  constructor(private readonly options: MailerOptions) {
    this.#transporter = createTransport({
      url: options.smtpUrl,
      connectionTimeout: SILENCE_MS,
      greetingTimeout: SILENCE_MS,
      socketTimeout: SILENCE_MS,
      dnsTimeout: SILENCE_MS,
      disableFileAccess: true,
      disableUrlAccess: true,
    } as Parameters<typeof createTransport>[0]);
  }

  /**
   * A server that is too slow may still take the mail, which then comes once more.
   *
   * @param id tells this message from any other, so that a mail that is sent twice can be recognised.
   */
  async send(
    to: string,
    message: ComposedMessage,
    id: string,
    abortSignal: AbortSignal,
  ): Promise<SendOutcome> {
    const { timeoutMs = TIMEOUT_MS } = this.options;
    let stop = () => {};
    const stopped = new Promise<SendOutcome>((resolve) => {
      stop = () => resolve(TOO_LATE);
    });
    if (abortSignal.aborted) stop();
    else abortSignal.addEventListener('abort', stop);
    try {
      const outcome = Promise.race([this.#send(to, message, id), stopped]);
      return (await answerWithin(timeoutMs, outcome)) ?? TOO_LATE;
    } finally {
      abortSignal.removeEventListener('abort', stop);
    }
  }

  async #send(to: string, message: ComposedMessage, id: string): Promise<SendOutcome> {
    const { subject, link, unsubscribeLink } = message;
    const { from, senderName } = this.options;
    try {
      await this.#transporter.sendMail({
        from: senderName === undefined || from.includes('<') ? from : { name: senderName, address: from },
        // As an object: as a text it could name several.
        to: { name: '', address: to },
        subject,
        text: `${[...linesOf(message), '', link, '', `No more messages to this address: ${unsubscribeLink}`].join('\n')}\n`,
        html: htmlOf(message),
        messageId: `<${id}@${domainOf(from)}>`,
        headers: {
          'Auto-Submitted': 'auto-generated',
          // RFC 2369 and RFC 8058.
          'List-Unsubscribe': `<${unsubscribeLink}>`,
          'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
        },
      });
      return { kind: 'sent' };
    } catch (error) {
      return failureOf(error);
    }
  }

  close(): void {
    this.#transporter.close();
  }
}

// Mail programs read no style sheet, and load nothing from anywhere before their reader agrees.
const PAGE = 'font: 16px/1.5 system-ui, sans-serif; max-width: 40rem; margin: 0 auto; padding: 1rem';
const BUTTON =
  'display: inline-block; padding: 0.5rem 1rem; border-radius: 6px; background: #1f4fd8; color: #ffffff; text-decoration: none';

function htmlOf({ subject, sections, footer, link, linkLabel, unsubscribeLink }: ComposedMessage): string {
  const said = sections.map(({ title, items, advice }) => {
    const list = items.map((item) => `<li>${escapeHtml(item)}</li>`).join('');
    return `<h1 style="font-size: 1.25rem">${escapeHtml(title)}</h1>${list && `<ul>${list}</ul>`}<p>${escapeHtml(advice)}</p>`;
  });
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="color-scheme" content="light dark"><title>${escapeHtml(subject)}</title></head>
<body><div style="${PAGE}">
${said.join('\n')}
<p><a style="${BUTTON}" href="${escapeHtml(link)}">${linkLabel}</a></p>
<p style="font-size: 0.875rem">${escapeHtml(footer)} <a href="${escapeHtml(unsubscribeLink)}">No more messages to this address</a></p>
</div></body></html>
`;
}

// Only codes, because a server's text may quote the message.
function failureOf(error: unknown): SendOutcome {
  const { responseCode, code } = error as { readonly responseCode?: unknown; readonly code?: unknown };
  if (typeof responseCode === 'number') {
    const isForGood = PERMANENT.test(String(responseCode)) && code !== 'EAUTH';
    return { kind: 'failed', error: `smtp ${responseCode}`, isForGood };
  }
  const name = typeof code === 'string' && /^[A-Z_]{1,20}$/.test(code) ? code : 'error';
  return { kind: 'failed', error: `smtp ${name}`, isForGood: false };
}

function domainOf(from: string): string {
  return /@([A-Za-z0-9.-]+)>?\s*$/.exec(from)?.[1] ?? 'localhost';
}
