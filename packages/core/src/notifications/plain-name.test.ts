import { contactKinds } from '../domain/contact';
import { plainName } from './plain-name';

const HOSTILE = 'a\r\nb\u2028c \u202e https://evil.example/x www.evil.example';

it.each(contactKinds)('makes no line, no link and no turned text of its own by %s', (kind) => {
  const shown = plainName(HOSTILE, kind);
  expect(shown).not.toMatch(/[\r\n\u2028\u202e]|:\/\/|www\./);
  expect(shown).toContain('evil.example');
});

it.each(['slack', 'discord', 'teams'] as const)('mentions nobody by %s', (kind) => {
  expect(plainName('@everyone <@1> <!channel> @here', kind)).not.toMatch(/@(everyone|1|here)/);
});

it.each(['discord', 'teams'] as const)('formats nothing by %s', (kind) => {
  expect(plainName('[x](y) **z** `k` <#1> \\_', kind)).toBe(
    '\\[x\\](y) \\*\\*z\\*\\* \\`k\\` \\<#1\\> \\\\\\_',
  );
});

it('is as it was given where it is only a name, and no longer than anybody reads', () => {
  expect(plainName('receiver-1.example.com', 'discord')).toBe('receiver-1.example.com');
  expect(plainName('n'.repeat(300), 'email')).toBe(`${'n'.repeat(99)}…`);
});

it.each(contactKinds)('has no half of a surrogate pair by %s, which chats refuse', (kind) => {
  expect(plainName('🚀'.repeat(60), kind)).not.toMatch(/\p{Cs}/u);
  expect(plainName('a\ud83d', kind)).not.toMatch(/\p{Cs}/u);
});
