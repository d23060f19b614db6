import { parseUrl } from './parse-url';

it('takes a URL with letters beyond ASCII, however often it was called', () => {
  const refused = Array.from({ length: 100_000 }, () => parseUrl('https://bücher.example/')).filter(
    (url) => !url,
  );
  expect(refused).toHaveLength(0);
});

it.each(['', 'a', '/path', 'http://', 'https://[::1'])('takes %j for none', (text) => {
  expect(parseUrl(text)).toBeUndefined();
});
