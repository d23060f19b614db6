import type { Express } from 'express';
import { pageSecurity, STYLE } from './receive-page';
import { requestStateOf } from './request-state';

export interface HomePageOptions {
  readonly portal: boolean;
  readonly docs: boolean;
  readonly receivePage: boolean;
}

/** For people who open the API in a browser: where to go from here. Programs still get a 404. */
export function mountHomePage(app: Express, options: HomePageOptions): void {
  const page = pageOf(options);
  app.get('/', pageSecurity, (request, response, next) => {
    response.vary('Accept');
    if (!request.headers.accept?.includes('text/html')) return next();
    requestStateOf(response).route = '/';
    response.type('html').send(page);
  });
}

// Addresses are relative, so that the page also works below the prefix of a proxy.
function pageOf({ portal, docs, receivePage }: HomePageOptions): Buffer {
  const links = [
    ...(portal
      ? [
          [
            'portal/',
            'The portal',
            'webhooks, deliveries and events. You need a link that your operator or the API makes',
          ],
        ]
      : []),
    ...(docs ? [['docs', 'The API', 'every route, with examples; openapi.json for programs']] : []),
    ...(receivePage ? [['receive', 'To receive webhooks', 'what receivers get, and how to verify it']] : []),
    ['v1/status', 'Status', 'whether the service accepts events'],
  ];
  const items = links.map(([href, title, text]) => `<li><a href="${href}">${title}</a>: ${text}</li>`);
  return Buffer.from(`<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>Hookferry</title><meta name="viewport" content="width=device-width"><style>${STYLE}</style></head>
<body>
<h1>Hookferry</h1>
<p>This is the API of a webhook delivery service. It runs.</p>
<ul>
${items.join('\n')}
</ul>
</body>
</html>
`);
}
