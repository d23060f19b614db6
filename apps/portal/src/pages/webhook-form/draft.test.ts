import { type AuthDraft, hasSecret, withCredential, withType } from './auth-draft';
import { bodyOf, draftOf, emptyDraft, newBodyOf } from './draft';
import { faultsOfDraft } from './draft-faults';
import { faultAt } from './fault-at';
import { patchOf } from './patch-of';

const webhook = {
  id: 'wh_1',
  url: 'https://example.com/hook',
  events: ['keyword.*'],
  status: 'enabled',
  ordering: 'none',
  signing: 'hmac',
  format: 'cloudevents_structured',
  rate_limit_unit: 'requests',
  while_disabled: 'hold',
  cloudevents: { source: '/orders', type_prefix: 'com.example.', subject_pointer: null },
  description: 'Ours',
  rate_limit: 5,
  max_concurrency: 4,
  retry_schedule: ['5s', '1m'],
  filter: { position: { lte: 10 } },
  headers: { 'x-team': '***', 'x-token': '***' },
  metadata: { team: 'seo' },
  disabled_reason: null,
  timeout_ms: null,
  batch: null,
  coalesce: null,
  tls: null,
  uid: null,
  auth: null,
  transformation: null,
  verification: { status: 'not_required', method: null, error: null, verified_at: null },
  created_at: '2030-01-31T12:00:00.000Z',
  updated_at: '2030-01-31T12:00:00.000Z',
} as const;
const draft = draftOf({
  ...webhook,
  events: [...webhook.events],
  retry_schedule: [...webhook.retry_schedule],
});

it('asks for nothing when nothing was changed', () => {
  expect(patchOf(bodyOf(draft), bodyOf(draft))).toEqual({});
});

it('asks for what was changed, and for null where something was taken away', () => {
  const changed = {
    ...draft,
    description: '',
    rateLimit: '20',
    maxConcurrency: '',
    ordering: 'strict',
    filter: '',
    headers: draft.headers.filter(({ name }) => name !== 'x-token'),
    metadata: [...draft.metadata, { key: 7, name: 'owner', value: 'Ann' }],
  };
  expect(patchOf(bodyOf(draft), bodyOf(changed))).toEqual({
    description: null,
    rate_limit: 20,
    max_concurrency: null,
    ordering: 'strict',
    filter: null,
    headers: { 'x-token': null },
    metadata: { owner: 'Ann' },
  });
});

it('leaves it to the account how a new webhook signs, unless somebody has chosen', () => {
  expect(newBodyOf(emptyDraft)).not.toHaveProperty('signing');
  expect(newBodyOf({ ...emptyDraft, signing: 'hmac' })).toMatchObject({ signing: 'hmac' });
  expect(newBodyOf({ ...emptyDraft, signing: 'both' })).toMatchObject({ signing: 'both' });
});

it('goes back to the secret where a webhook signed by a key pair', () => {
  const keyed = { ...draft, signing: 'ed25519' };
  expect(patchOf(bodyOf(keyed), bodyOf(draft))).toEqual({ signing: null });
});

it('finds nothing wrong with what the service gave, masked headers included', () => {
  expect(faultsOfDraft(draft)).toEqual([]);
});

it('says what is wrong where it is', () => {
  const validationErrors = faultsOfDraft({
    ...emptyDraft,
    url: 'ftp://a',
    filter: '{',
    retrySchedule: '5s, soon',
  });
  expect(faultAt(validationErrors, '/url')).toMatch(/^must be a URL that begins with https:/);
  expect(faultAt(validationErrors, '/filter')).toBe('must be JSON');
  expect(faultAt(validationErrors, '/retry_schedule')).toMatch(/^1 must be a duration/);
  expect(faultAt(validationErrors, '/events')).toBeUndefined();
});

describe('another URL, for who may not see what headers hold', () => {
  const moved = { ...draft, url: 'https://elsewhere.example.com/hook' };

  it('has each value that is not shown given again', () => {
    const validationErrors = faultsOfDraft(moved, webhook.url);
    expect(validationErrors.map(({ pointer }) => pointer)).toEqual(['/headers/x-team', '/headers/x-token']);
    expect(faultAt(validationErrors, '/headers')).toContain('x-team must be given again or removed');
    const headers = [{ key: 0, name: 'x-team', value: 'blue' }];
    expect(faultsOfDraft({ ...moved, headers }, webhook.url)).toEqual([]);
  });

  it('leaves them where the URL stays, and to who may see them', () => {
    expect(faultsOfDraft({ ...draft, url: `${webhook.url} ` }, webhook.url)).toEqual([]);
    expect(faultsOfDraft(moved)).toEqual([]);
  });
});

describe('the authentication of a webhook', () => {
  const oauth2 = {
    type: 'oauth2',
    token_url: 'https://auth.example.com/token',
    client_id: 'hooks',
    credential: 'client_secret',
    scope: 'hooks',
    audience: null,
  } as const;
  const tokened = draftOf({ ...webhook, events: [], retry_schedule: [], auth: oauth2 });
  const { auth } = tokened;
  const change = (part: AuthDraft) => ({ ...tokened, auth: part });
  const typed = (members: AuthDraft['members'], before = auth) =>
    change({ ...before, members: { ...before.members, ...members } });

  it('asks for nothing where nothing was typed: the secret stays', () => {
    expect(patchOf(bodyOf(tokened), bodyOf(change({ ...auth })))).toEqual({});
    expect(faultsOfDraft(tokened, undefined, tokened.auth)).toEqual(
      faultsOfDraft({ ...tokened, auth: emptyDraft.auth }),
    );
  });

  it('asks for what was changed alone', () => {
    const changed = typed({ scope: '', audience: ' https://api.example.com', client_secret: 'new' });
    expect(patchOf(bodyOf(tokened), bodyOf(changed))).toEqual({
      auth: { scope: null, audience: 'https://api.example.com', client_secret: 'new' },
    });
    const keyed = typed({ private_key: 'a PEM' }, withCredential(auth, 'private_key'));
    expect(patchOf(bodyOf(tokened), bodyOf(keyed))).toEqual({ auth: { private_key: 'a PEM' } });
  });

  it('keeps its secret, of the same kind, where another type was chosen for a while', () => {
    const keyed = { ...auth, credential: 'private_key' };
    const back = withType(withType(keyed, 'basic'), 'oauth2');
    expect(hasSecret(back, keyed)).toBe(true);
    expect(hasSecret(withType(back, 'basic'), withType(auth, 'basic'))).toBe(true);
  });

  it('is replaced as a whole by another type, and removed by none', () => {
    const basic = typed({ username: 'u', password: 'p ' }, withType(auth, 'basic'));
    expect(patchOf(bodyOf(tokened), bodyOf(basic))).toEqual({
      auth: { type: 'basic', username: 'u', password: 'p ' },
    });
    expect(patchOf(bodyOf(tokened), bodyOf(change(withType(auth, ''))))).toEqual({ auth: null });
  });

  it.each([
    [withType(auth, 'bearer'), '/auth/token'],
    [typed({ username: 'u' }, withType(auth, 'basic')).auth, '/auth/password'],
    [withCredential(auth, 'private_key'), '/auth/private_key'],
    [typed({ token_url: ' ' }).auth, '/auth/token_url'],
  ])('needs what is not there yet: %j', (part, pointer) => {
    const validationErrors = faultsOfDraft(change(part), undefined, auth);
    expect(faultAt(validationErrors, pointer)).toBe('is required');
  });
});
