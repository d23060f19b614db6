import { isOpenToOthers, parseUrl } from './parse-url';

it('takes the slash at the end away', () => {
  expect(parseUrl('https://a.example/hooks/')).toBe('https://a.example/hooks');
});

it.each(['', 'a.example', 'ftp://a.example', 'https://u:p@a.example', 'https://a.example?x=1'])(
  'refuses %p',
  (url) => {
    expect(() => parseUrl(url)).toThrow();
  },
);

it('knows where a key could be read on its way', () => {
  const open = [
    'http://a.example',
    'https://a.example',
    'http://localhost:3000',
    'http://127.0.0.1',
    'http://[::1]:3000',
  ];
  expect(open.filter(isOpenToOthers)).toEqual(['http://a.example']);
});
