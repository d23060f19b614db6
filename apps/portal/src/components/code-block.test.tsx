import { renderToStaticMarkup } from 'react-dom/server';
import { CodeBlock } from './code-block';
import { ToastProvider } from './toasts';

function render(text: string): string {
  return renderToStaticMarkup(
    <ToastProvider>
      <CodeBlock text={text} label="Body" />
    </ToastProvider>,
  );
}

/** What is read, without marks. */
const textIn = (html: string) => /<pre[^>]*>(.*)<\/pre>/s.exec(html)?.[1]?.replace(/<[^>]*>/g, '');
const items = (count: number) =>
  JSON.stringify(
    Array.from({ length: count }, (_, i) => i),
    undefined,
    2,
  );

it('shows text that is not JSON as it is', () => {
  expect(textIn(render('{ down'))).toBe('{ down');
});

it('leaves each character of JSON as it is written', () => {
  expect(textIn(render('{"a": [1e3,  true], "b":"c"}'))).toBe(
    '{&quot;a&quot;: [1e3,  true], &quot;b&quot;:&quot;c&quot;}\n',
  );
});

it('takes markup in JSON for text', () => {
  expect(render('{"a":"<b>"}')).toContain('&lt;b&gt;');
});

it('folds a long list at first, so that the members behind it are seen, and not a short one', () => {
  const long = render(`{\n"list": ${items(50)},\n"last": 1}`);
  expect(textIn(long)).toContain('&quot;list&quot;: [ … 50 lines ],\n&quot;last&quot;: 1}');
  expect(long).toContain('aria-expanded="false" aria-label="Lines of list"');
  const short = render(`{\n"list": ${items(20)},\n"last": 1}`);
  expect(textIn(short)).toContain('19\n],');
  expect(short).toContain('aria-expanded="true" aria-label="Lines of list"');
});
