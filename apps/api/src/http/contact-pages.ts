import { createHash } from 'node:crypto';
import { AUDIT_ID_PREFIX } from '@hookferry/core/domain/audit';
import { type Contact, type LinkPurpose, linkPurposes } from '@hookferry/core/domain/contact';
import { type Contacts, shownTarget } from '@hookferry/core/notifications/contacts';
import { plainName } from '@hookferry/core/notifications/plain-name';
import { AppError } from '@hookferry/core/platform/app-error';
import { escapeHtml } from '@hookferry/core/platform/escape-html';
import type { Express, Request, Response } from 'express';
import { contentSecurityPolicy } from 'helmet';
import type { ApiContext } from '../context';
import { requestStateOf } from './request-state';

const PRODUCT = 'Hookferry';

const STYLE = `
body { font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif; margin: 0; color: #1b1f24; background: #f4f6f8 }
main { box-sizing: border-box; max-width: 34rem; margin: 12vh auto; padding: 2rem; border: 1px solid #d0d7de; border-radius: 8px; background: #fff; overflow-wrap: anywhere }
h1 { margin: 0 0 1rem; font-size: 1.4rem; line-height: 1.25 }
p { margin: 0 0 1rem }
footer { margin-top: 1.5rem; color: #57606a; font-size: .875rem }
button { font: inherit; font-weight: 500; padding: .6rem 1.2rem; border: 0; border-radius: 6px; background: #0550ae; color: #fff; cursor: pointer }
button:focus-visible { outline: 3px solid #0969da; outline-offset: 2px }
@media (max-width: 36rem) { main { min-height: 100vh; margin: 0; padding: 1.25rem; border: 0; border-radius: 0 } }
@media (prefers-color-scheme: dark) {
  body { color: #e6edf3; background: #0d1117 }
  main { border-color: #30363d; background: #161b22 }
  footer { color: #9198a1 }
  button { background: #79b8ff; color: #0d1117 }
}
`;
const STYLE_HASH = createHash('sha256').update(STYLE).digest('base64');

/** The page has a button, and nothing else: no script, no style but its own, no frame around it. */
const pageSecurity = contentSecurityPolicy({
  useDefaults: false,
  directives: {
    'default-src': ["'none'"],
    'style-src': [`'sha256-${STYLE_HASH}'`],
    'form-action': ["'self'"],
    'frame-ancestors': ["'none'"],
  },
});

interface Words {
  readonly title: string;
  /** All of it is HTML, as are its parts. */
  readonly ask: (sender: string, target: string, account: string) => string;
  readonly button: string;
  readonly doneTitle: string;
  readonly done: (target: string, account: string) => string;
}

const words: Readonly<Record<LinkPurpose, Words>> = {
  confirm: {
    title: 'Confirm messages about webhooks',
    ask: (sender, target, account) =>
      `Somebody added ${target} to the contacts of the account ${account}. Once you confirm, ${sender} sends it a message when a webhook of this account fails, is disabled or works again.`,
    button: 'Confirm',
    doneTitle: 'Messages are confirmed',
    done: (target, account) =>
      `${target} gets messages about webhooks of the account ${account} from now on. Webhooks that fail already are not reported. Each message has a link to stop them.`,
  },
  unsubscribe: {
    title: 'Stop messages about webhooks',
    ask: (sender, target, account) =>
      `${sender} sends ${target} messages about webhooks of the account ${account}. Stop them?`,
    button: 'Stop the messages',
    doneTitle: 'Messages are stopped',
    done: (target, account) => `${target} gets no more messages about webhooks of the account ${account}.`,
  },
};

/**
 * The pages behind the links in messages to contacts. They need no key: the link has a secret of its contact. To look at
 * one changes nothing, since programs open the links in mails to check them; the button does it, and so does the one
 * click of a mail program (RFC 8058).
 */
export function mountContactPages(app: Express, contacts: Contacts, core: ApiContext): void {
  for (const purpose of linkPurposes) {
    const path = `/contacts/:token/${purpose}`;
    app.get(path, pageSecurity, async (request, response) => {
      requestStateOf(response).route = path;
      const contact = await contacts.findByLink(tokenOf(request), purpose);
      const { title, ask, button } = words[purpose];
      const { sender, target, account } = await namesOf(core, contact);
      // Without an address the form is sent to where the page came from, below whatever prefix that is.
      const form = `<form method="post"><button>${button}</button></form>`;
      sendPage(response, sender, title, `<p>${ask(sender, target, account)}</p>${form}`);
    });
    app.post(path, pageSecurity, async (request, response) => {
      requestStateOf(response).route = path;
      // Its body says nothing that counts.
      request.resume();
      const mark = core.confirmation?.mark() ?? 0;
      const contact = await contacts.followLink(tokenOf(request), purpose, actOf(core, response, purpose));
      await core.confirmation?.confirm(mark);
      const { doneTitle, done } = words[purpose];
      const { sender, target, account } = await namesOf(core, contact);
      sendPage(response, sender, doneTitle, `<p>${done(target, account)}</p>`);
    });
  }
}

const MAX_TOKEN = 512;

function tokenOf({ params }: Request): string {
  const { token } = params;
  if (typeof token === 'string' && token.length <= MAX_TOKEN) return token;
  throw new AppError('not_found', 'The link is not valid, or its contact was deleted.');
}

function actOf(
  { auditBounds: bounds, onRecorded, newId, clock }: ApiContext,
  response: Response,
  purpose: LinkPurpose,
) {
  const state = requestStateOf(response);
  const { clientAddress: address } = state;
  return {
    id: newId(AUDIT_ID_PREFIX),
    at: clock(),
    action: `contact.${purpose}` as const,
    actor: { type: 'anonymous' as const },
    ...(address === undefined ? {} : { address }),
    ...state.requestIds(newId),
    bounds,
    onRecorded,
  };
}

/** Who sends, to whom, and about whose webhooks; customers wrote the latter two. All are HTML. */
async function namesOf({ config, accountStore }: ApiContext, contact: Contact) {
  const account = await accountStore.find(contact.accountId);
  return {
    sender: escapeHtml(config.OPERATOR_NAME ?? PRODUCT),
    target: `<strong>${escapeHtml(shownTarget(contact))}</strong>`,
    account: `<strong>${escapeHtml(plainName(account?.name ?? contact.accountId, 'email'))}</strong>`,
  };
}

function sendPage(response: Response, sender: string, title: string, content: string): void {
  response.set({ 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' });
  response.type('html').send(`<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>${title} · ${sender}</title><style>${STYLE}</style><meta name="viewport" content="width=device-width"><meta name="color-scheme" content="light dark"></head>
<body><main><h1>${title}</h1>${content}<footer>${sender}</footer></main></body>
</html>
`);
}
