import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { docsOf } from './docs-links';

it.each(Object.entries(docsOf))(
  'what leads to help with %s leads to a heading that is there',
  (_check, link) => {
    const [page = '', heading] = link.split('#');
    const text = readFileSync(join(__dirname, '../../../../../docs', page), 'utf8');
    const headings = [...text.matchAll(/^#+ (.+)$/gm)].map(([, name = '']) =>
      name
        .toLowerCase()
        .replaceAll(/[^\w -]/g, '')
        .replaceAll(' ', '-'),
    );
    expect(headings).toContain(heading);
  },
);
