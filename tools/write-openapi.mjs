import { writeFileSync } from 'node:fs';
import { describeApi } from '../apps/api/dist/openapi/document.js';
import { routes } from '../apps/api/dist/routes/index.js';

writeFileSync(
  new URL('../docs/openapi.json', import.meta.url),
  `${JSON.stringify(describeApi(routes), null, 2)}\n`,
);
