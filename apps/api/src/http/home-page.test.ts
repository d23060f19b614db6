import request from 'supertest';
import { startTestApi } from '../testing/start-test-api';

describe('the address of the API in a browser', () => {
  it.each([
    [{}, ['portal/', 'docs', 'receive', 'v1/status']],
    [{ PORTAL: 'false', DOCS_ENABLED: 'false', RECEIVE_PAGE: 'false' }, ['v1/status']],
  ])('leads to what there is with %j, and each link leads somewhere', async (settings, links) => {
    const api = await startTestApi(settings);
    try {
      const page = await request(api.url).get('/').set('accept', 'text/html,*/*;q=0.8');
      expect([page.status, page.headers['content-type']]).toEqual([200, 'text/html; charset=utf-8']);
      const found = [...page.text.matchAll(/href="([^"]*)"/g)].map(([, href]) => String(href));
      expect(found).toEqual(links);
      // Whether the portal was built is not what this is about.
      for (const href of found.filter((each) => each !== 'portal/'))
        expect((await request(api.url).get(`/${href}`)).status).toBe(200);
    } finally {
      await api.close();
    }
  });

  it('is a 404 with a problem for programs', async () => {
    const api = await startTestApi();
    try {
      const { status, body } = await request(api.url).get('/').set('accept', 'application/json');
      expect([status, body.code]).toEqual([404, 'route_not_found']);
    } finally {
      await api.close();
    }
  });
});
