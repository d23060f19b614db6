import { z } from 'zod';
import { portalSettings } from './portal-settings';

const schema = z.object(portalSettings);

it('takes origins, one or several, as browsers write them', () => {
  const given = {
    PORTAL_FRAME_ANCESTORS:
      ' https://App.example.com/ ,http://localhost:8080,, https://xn--bcher-kva.example:443',
    PUBLIC_URL: 'https://hooks.example.com/',
  };
  expect(schema.parse(given)).toEqual({
    PORTAL: true,
    PORTAL_FRAME_ANCESTORS: [
      'https://app.example.com',
      'http://localhost:8080',
      'https://xn--bcher-kva.example',
    ],
    PUBLIC_URL: 'https://hooks.example.com',
  });
});

it.each([
  '*',
  'null',
  "'self'",
  'app.example.com',
  'https:',
  'https://*.example.com',
  'https://app.example.com/page',
  'https://app.example.com?x',
  'https://user@app.example.com',
  'https://app.example.com; script-src *',
  'https://app.example.com https://evil.example',
  'javascript:alert(1)',
  'data:text/html,x',
])('refuses %s, which is no origin', (origin) => {
  expect(schema.safeParse({ PORTAL_FRAME_ANCESTORS: origin }).error?.issues[0]?.message).toContain(
    'must be an origin such as https://app.example.com',
  );
  expect(schema.safeParse({ PUBLIC_URL: origin }).success).toBe(false);
});
