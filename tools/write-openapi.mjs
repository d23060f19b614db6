import { writeFileSync } from 'node:fs';
import { describeApi } from '../apps/api/dist/openapi/document.js';
import { createRoutes } from '../apps/api/dist/routes/index.js';

// The description needs the routes' shapes only, and nothing that their handlers use.
const routes = createRoutes(/** @type {never} */ ({}));
writeFileSync(
  new URL('../docs/openapi.json', import.meta.url),
  `${JSON.stringify(describeApi(routes), null, 2)}\n`,
);
