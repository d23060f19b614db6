import type { Express } from 'express';
import { contentSecurityPolicy } from 'helmet';

// One file with all that it needs: nothing is loaded from elsewhere.
const REDOC = 'redoc/bundles/redoc.standalone.js';

/** What the page may do: run that file, which sets its own styles, and read the description. */
const pageSecurity = contentSecurityPolicy({
  useDefaults: false,
  directives: {
    'default-src': ["'none'"],
    'script-src': ["'self'"],
    'style-src': ["'unsafe-inline'"],
    'connect-src': ["'self'"],
    'img-src': ['data:'],
    'frame-ancestors': ["'none'"],
  },
});

// Addresses are relative, so that the page also works below the prefix of a proxy.
const PAGE = `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>Webhook API</title><meta name="viewport" content="width=device-width"></head>
<body style="margin:0"><redoc spec-url="openapi.json" disable-search></redoc><script src="docs/redoc.js"></script></body>
</html>
`;

/** The API's description, for programs and for people, without a key. */
export function mountDocs(app: Express, description: unknown): void {
  const json = JSON.stringify(description);
  app.get('/openapi.json', (_request, response) => {
    response.type('json').send(json);
  });
  app.get('/docs', pageSecurity, (request, response) => {
    // Seen from `/docs/` the page's addresses would lead elsewhere.
    if (request.path.endsWith('/')) response.redirect('../docs');
    else response.type('html').send(PAGE);
  });
  app.get('/docs/redoc.js', (_request, response) => {
    // Found only now: the API works without the page.
    response.sendFile(require.resolve(REDOC), { dotfiles: 'allow', maxAge: '1h' });
  });
}
