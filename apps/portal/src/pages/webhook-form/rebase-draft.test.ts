import { emptyDraft } from './draft';
import { rebaseDraft } from './rebase-draft';

const before = {
  ...emptyDraft,
  url: 'https://example.com/hook',
  description: 'Ours',
  headers: [
    { key: 0, name: 'x-team', value: '***' },
    { key: 1, name: 'x-token', value: '***' },
  ],
};

it('keeps what somebody changed, takes the rest as it is now, and wins where both changed the same', () => {
  const draft = { ...before, description: 'Mine', events: ['brief.*'], rateLimit: '7' };
  const now = { ...before, url: 'https://example.com/new', description: 'Theirs', events: ['*'] };
  expect(rebaseDraft(draft, before, now)).toEqual({
    ...before,
    url: 'https://example.com/new',
    description: 'Mine',
    events: ['brief.*'],
    rateLimit: '7',
  });
});

it('does so with headers one by one', () => {
  const [team, token] = before.headers;
  if (!team || !token) throw new Error('no headers');
  const draft = {
    ...before,
    headers: [
      { ...token, value: 'new' },
      { key: 5, name: 'x-mine', value: '1' },
    ],
  };
  const now = { ...before, headers: [team, token, { key: 2, name: 'x-theirs', value: '***' }] };
  const { headers } = rebaseDraft(draft, before, now);
  expect(headers.map(({ name, value }) => [name, value])).toEqual([
    ['x-token', 'new'],
    ['x-theirs', '***'],
    ['x-mine', '1'],
  ]);
  expect(new Set(headers.map(({ key }) => key)).size).toBe(3);
});
