import { createHash } from 'node:crypto';
import { AUDIT_ID_PREFIX } from '@hookferry/core/domain/audit';
import { type LinkPurpose, linkPurposes } from '@hookferry/core/domain/contact';
import type { Contacts } from '@hookferry/core/notifications/contacts';
import { AppError } from '@hookferry/core/platform/app-error';
import { escapeHtml } from '@hookferry/core/platform/escape-html';
import type { Express, Request, Response } from 'express';
import { contentSecurityPolicy } from 'helmet';
import type { ApiContext } from '../context';
import { requestStateOf } from './request-state';

const STYLE = `
body { font: 16px/1.5 system-ui, sans-serif; margin: 0; color: CanvasText; background: Canvas }
main { max-width: 32rem; margin: 12vh auto; padding: 0 1rem }
h1 { font-size: 1.5rem; line-height: 1.25 }
button { font: inherit; padding: .6rem 1.2rem; border: 0; border-radius: 6px; background: #1f4fd8; color: #fff; cursor: pointer }
button:focus-visible { outline: 3px solid currentColor; outline-offset: 2px }
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

const words: Readonly<
  Record<LinkPurpose, { readonly ask: string; readonly button: string; readonly done: string }>
> = {
  confirm: {
    ask: 'Do you want to get a message when a webhook fails, is disabled, or works again?',
    button: 'Yes, send them to me',
    done: 'Confirmed. You get messages from now on; each has a link to stop them.',
  },
  unsubscribe: {
    ask: 'Do you want no more messages about webhooks?',
    button: 'No more messages',
    done: 'Done. You get no more messages.',
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
      await contacts.findByLink(tokenOf(request), purpose);
      const { ask, button } = words[purpose];
      // Without an address the form is sent to where the page came from, below whatever prefix that is.
      sendPage(response, core, `<p>${ask}</p><form method="post"><button>${button}</button></form>`);
    });
    app.post(path, pageSecurity, async (request, response) => {
      requestStateOf(response).route = path;
      // Its body says nothing that counts.
      request.resume();
      const mark = core.confirmation?.mark() ?? 0;
      await contacts.followLink(tokenOf(request), purpose, actOf(core, response, purpose));
      await core.confirmation?.confirm(mark);
      sendPage(response, core, `<p>${words[purpose].done}</p>`);
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

function sendPage(response: Response, { config }: ApiContext, content: string): void {
  const { OPERATOR_NAME: operator } = config;
  const title =
    operator === undefined ? 'Messages about webhooks' : `Messages about webhooks of ${escapeHtml(operator)}`;
  response.set({ 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' });
  response.type('html').send(`<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>${title}</title><style>${STYLE}</style><meta name="viewport" content="width=device-width"><meta name="color-scheme" content="light dark"></head>
<body><main><h1>${title}</h1>${content}</main></body>
</html>
`);
}
