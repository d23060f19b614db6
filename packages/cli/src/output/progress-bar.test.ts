import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { Output } from './output';
import { ProgressBar } from './progress-bar';

it('shows nothing done while nobody knows how much there is to do', async () => {
  const error = Object.assign(new PassThrough(), {
    isTTY: true,
    columns: 80,
  }) as unknown as NodeJS.WriteStream;
  const bar = new ProgressBar(
    new Output({ out: error, error, environment: {}, isJson: () => false }),
    'events',
  );
  bar.show(0, 0);
  bar.stop();
  bar.show(2, 4);
  bar.stop();
  error.end();
  const shown = await text(error);
  expect(shown).toMatch(/ 0%  0 of 0 events[^]* 50%  2 of 4 events/);
  expect(shown).not.toContain('100%');
});
