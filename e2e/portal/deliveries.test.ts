import { BRIEF } from '../support/samples';
import { until } from '../support/until';
import { startSwitchedReceiver } from './support/switched-receiver';
import { usePortal } from './support/use-portal';

const portal = usePortal({ workers: 1, environment: { RETRY_SCHEDULE: '1s,1h' } });

it('looks', async () => {
  const { receiver, answerWith } = await startSwitchedReceiver(500);
  const { client } = portal();
  await client.register(receiver.url);
  for (let i = 0; i < 3; i += 1) await client.publish(BRIEF.type, BRIEF.data);
  await receiver.waitFor(4);
  answerWith(204);
  const page = await portal().signIn({});
  await page.getByRole('row').nth(3).waitFor();
  await page.screenshot({ path: '/tmp/p1-list.png' });
  await page.getByText('Live', { exact: true }).waitFor();
  await client.publish(BRIEF.type, BRIEF.data);
  await page.getByRole('button', { name: '1 new' }).waitFor();
  await page.screenshot({ path: '/tmp/p1-list2.png' });
  await page.getByRole('row').nth(2).click();
  await page.getByRole('heading', { name: /Attempts/ }).waitFor();
  await page.waitForTimeout(1000);
  await page.screenshot({ path: '/tmp/p1-delivery.png', fullPage: true });
  await receiver.stop();
  void until;
});
