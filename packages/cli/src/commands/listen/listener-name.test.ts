import { defaultName } from './listener-name';

const nameOf = (url: string) => defaultName(new URL(url), 'Desk.example');

it('is that of the machine and the URL', () => {
  expect(nameOf('http://localhost:4000/hook')).toMatch(/^desk-example-[0-9a-f]{8}$/);
  expect(nameOf('http://localhost:4000/hook')).not.toBe(nameOf('http://localhost:4000/other'));
});

it('tells nothing of what is secret in the URL, not even to who guesses', () => {
  expect(nameOf('http://user:password@localhost:4000/hook?token=secret')).toBe(
    nameOf('http://localhost:4000/hook'),
  );
});
