import { type ReceivedRequest, Receiver } from '../support/receiver';
import { checkAccessibility } from './support/check-accessibility';
import { checkWidth } from './support/check-width';
import { usePortal } from './support/use-portal';

const portal = usePortal({ environment: { ENDPOINT_VERIFICATION: 'required' } });

let isReady = false;
let receiver: Receiver;
beforeAll(async () => {
  receiver = await Receiver.start((request) => (isReady ? responseTo(request) : 503));
});
afterAll(async () => await receiver.stop());

function responseTo({ body }: ReceivedRequest) {
  const { data } = JSON.parse(body.toString()) as { data: { challenge: string } };
  return { status: 200, body: JSON.stringify({ challenge: data.challenge }) };
}

it('says how it stands and why, sends the challenge again when it is asked to, and shows what comes of it', async () => {
  const { id } = await portal().client.register(receiver.url);
  await receiver.waitFor(1);
  const page = await portal().signIn({ path: `/webhooks/${id}` });
  const panel = page.getByRole('region', { name: 'Verification' });
  await panel.getByText('It responds to a signed challenge').waitFor();
  await panel.getByText('It responded with an error or a redirect').waitFor();
  await checkAccessibility(page);
  await checkWidth(page);
  isReady = true;
  await panel.getByRole('button', { name: 'Send again' }).click();
  await panel.getByText(/^\W*Verified$/).waitFor();
  await panel.getByRole('button', { name: 'Send again' }).waitFor({ state: 'detached' });
  await panel.getByText('Since').waitFor();
});

it('offers it to nobody who may not change webhooks', async () => {
  isReady = false;
  const { id } = await portal().client.register(receiver.url);
  const page = await portal().signIn({ path: `/webhooks/${id}`, capabilities: ['read'] });
  const panel = page.getByRole('region', { name: 'Verification' });
  await panel.getByText('It responds to a signed challenge').waitFor();
  expect(await panel.getByRole('button').count()).toBe(0);
});
