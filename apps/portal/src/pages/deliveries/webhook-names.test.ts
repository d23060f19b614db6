import { namesOf } from './webhook-names';

const url = 'https://example.com/hooks?a=1';

it('names webhooks by description, else by uid, else by host and path, and tells apart what would read the same', () => {
  const names = namesOf([
    { id: 'wh_000000000000000000one1', url, description: 'Orders', uid: null },
    { id: 'wh_000000000000000000two2', url, description: null, uid: null },
    { id: 'wh_000000000000000000thr3', url: 'http://example.com/hooks', description: null, uid: 'crm' },
    { id: 'wh_0000000000000000000crm', url, description: 'Orders', uid: 'crm-2' },
    { id: 'wh_000000000000000000six6', url, description: null, uid: null },
    { id: 'wh_000000000000000000fou4', url: 'https://example.com:8443/', description: '', uid: null },
    { id: 'wh_000000000000000000fiv5', url: 'no address', description: null, uid: null },
  ]);
  expect([...names.values()]).toEqual([
    'Orders (…00one1)',
    'example.com/hooks (…00two2)',
    'crm',
    'Orders (crm-2)',
    'example.com/hooks (…00six6)',
    'example.com:8443',
    'no address',
  ]);
});
