import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { verify } from '@hookferry/receiver';
import { Receiver } from '../support/receiver';
import { QUICK_WIN } from '../support/samples';
import { usePortal } from './support/use-portal';

const portal = usePortal({ workers: 1 });

let receiver: Receiver;
let webhook: { readonly id: string; readonly secret: string };
let deliveryPath: string;

beforeAll(async () => {
  receiver = await Receiver.start();
  webhook = await portal().client.register(receiver.url);
  const eventId = await portal().client.publish(QUICK_WIN.type, QUICK_WIN.data);
  await portal().client.waitForStatus(webhook.id, eventId, 'delivered');
  deliveryPath = `/deliveries/${eventId}.${webhook.id}`;
});

afterAll(async () => {
  await receiver.stop();
});

async function copyCommand(
  capabilities: readonly ('read' | 'webhooks' | 'secrets')[],
  told: RegExp,
): Promise<string> {
  const page = await portal().signIn({ capabilities, path: deliveryPath });
  await page.getByRole('button', { name: 'Copy as curl' }).click();
  await page.getByText(told).waitFor();
  await page.getByText('Copied', { exact: true }).waitFor();
  return await page.evaluate<string>(`navigator.clipboard.readText()`);
}

it('gives a command whose request the receiver takes: the same body, signed', async () => {
  const command = await copyCommand(['read', 'webhooks', 'secrets'], /Signed now/);
  const [delivered] = await receiver.waitFor(1);
  await promisify(execFile)('sh', ['-c', command]);
  const [, copied] = await receiver.waitFor(2);
  expect(copied?.body.equals(delivered?.body ?? Buffer.from(''))).toBe(true);
  const { headers, body } = copied ?? { headers: {}, body: '' };
  expect(await verify({ secret: webhook.secret, headers, body })).toMatchObject({ type: QUICK_WIN.type });
});

it('says where the signature is to be put in by whoever may not see the secret', async () => {
  const command = await copyCommand(['read'], /may not read the secret/);
  expect(command).toContain('webhook-signature: v1,SIGNATURE');
});
