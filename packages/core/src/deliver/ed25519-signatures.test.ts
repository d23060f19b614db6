import { createPublicKey, generateKeyPairSync, verify } from 'node:crypto';
import { Ed25519Signatures } from './ed25519-signatures';

const { privateKey } = generateKeyPairSync('ed25519');
const publicKey = createPublicKey(privateKey);
const signer = { kid: 'a', privateKey };
const message = { id: 'evt_1', timestamp: 1_700_000_000, body: '{"type":"t","data":"Zoë 🚀"}' };

function isGood(signature: string, { id, timestamp, body } = message): boolean {
  const bytes = Buffer.from(signature.replace('v1a,', ''), 'base64');
  return verify(null, Buffer.from(`${id}.${timestamp}.${body}`), publicKey, bytes);
}

it('signs id, time and body as they are sent', async () => {
  const signature = await new Ed25519Signatures().sign(signer, message);
  expect(signature).toMatch(/^v1a,[A-Za-z0-9+/]{86}==$/);
  expect(isGood(signature)).toBe(true);
});

it.each([
  ['another body', { body: '{"type":"t","data":2}' }],
  ['another second', { timestamp: message.timestamp + 1 }],
  ['another id', { id: 'evt_2' }],
])('signs %s anew', async (_what, change) => {
  const signatures = new Ed25519Signatures();
  const first = await signatures.sign(signer, message);
  const other = { ...message, ...change };
  const second = await signatures.sign(signer, other);
  expect(second).not.toBe(first);
  expect(isGood(second, other)).toBe(true);
});

it('never gives the signature of one key for another', async () => {
  const signatures = new Ed25519Signatures();
  await signatures.sign(signer, message);
  const other = generateKeyPairSync('ed25519');
  const signature = await signatures.sign({ kid: 'b', privateKey: other.privateKey }, message);
  expect(isGood(signature)).toBe(false);
});

it('signs the same bytes once within a second, however many attempts send them', async () => {
  const made: Buffer[] = [];
  const signatures = new Ed25519Signatures(async (_digest, bytes) => {
    made.push(bytes as Buffer);
    return Buffer.alloc(64);
  });
  await Promise.all(Array.from({ length: 100 }, () => signatures.sign(signer, message)));
  await signatures.sign(signer, message);
  expect(made.map(String)).toEqual([`evt_1.1700000000.${message.body}`]);
  await signatures.sign(signer, { ...message, timestamp: message.timestamp + 1 });
  expect(made).toHaveLength(2);
});

it('does not sign on the event loop: nothing is signed before the loop turns', async () => {
  let isSigned = false;
  const signature = new Ed25519Signatures().sign(signer, message).then((made) => {
    isSigned = true;
    return made;
  });
  // All that can go on without a turn of the loop goes on before this.
  await new Promise((resolve) => process.nextTick(resolve));
  expect(isSigned).toBe(false);
  expect(isGood(await signature)).toBe(true);
});
