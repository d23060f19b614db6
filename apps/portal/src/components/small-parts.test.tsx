import { renderToStaticMarkup } from 'react-dom/server';
import { Badge } from './badge';
import { Facts } from './facts';
import { Progress } from './progress';
import { Sparkline } from './sparkline';
import { TextWithCode } from './text-with-code';

it('a badge is told apart by its shape, which screen readers leave out', () => {
  const shapes = (['good', 'bad', 'warning', 'busy', 'neutral'] as const).map((tone) => {
    const html = renderToStaticMarkup(<Badge tone={tone}>word</Badge>);
    expect(html).toMatch(/aria-hidden="true"[^>]*>.<\/span>word<\/span>$/);
    return /aria-hidden="true"[^>]*>(.)</.exec(html)?.[1];
  });
  expect(new Set(shapes).size).toBe(5);
});

it('facts are a list of names and values, without those that are not known', () => {
  const html = renderToStaticMarkup(<Facts facts={{ Status: 'held', Until: undefined, Attempts: 0 }} />);
  expect(html.replace(/ class="[^"]*"/, '')).toBe(
    '<dl><dt>Status</dt><dd>held</dd><dt>Attempts</dt><dd>0</dd></dl>',
  );
});

it('a bar has no value as long as nobody knows how much there is, and is full when there is nothing', () => {
  const bar = (done: number, of?: number) =>
    renderToStaticMarkup(<Progress label="Sent" done={done} of={of} />);
  expect(bar(3)).not.toMatch(/value=|max=/);
  expect(bar(3, 10)).toMatch(/max="10" value="3"|value="3" max="10"/);
  expect(bar(0, 0)).toMatch(/max="1" value="1"|value="1" max="1"/);
});

it('a line of figures is a picture with a name', () => {
  const html = renderToStaticMarkup(<Sparkline values={[1, null, 3]} label="3 deliveries" />);
  expect(html).toContain('role="img" aria-label="3 deliveries"');
});

it('shows text between backticks as code, and markup as text', () => {
  expect(renderToStaticMarkup(<TextWithCode text="Set `url` to <b>" />)).toBe(
    'Set <code>url</code> to &lt;b&gt;',
  );
});
