import { createPublicKey, sign, verify } from 'node:crypto';
import { AccountStore } from '../../accounts/redis-account-store';
import { keys } from '../../domain/keys';
import { FORMER_KEY_MS } from '../../domain/signing-key';
import { sealingKeysSchema } from '../../platform/sealing-key';
import { recordSignals } from '../../testing/record-signals';
import { openTestRedis, type TestRedis } from '../../testing/test-redis';
import { TEST_ENCRYPTION_KEY, testSealer } from '../../testing/test-sealer';
import { uniqueAccountId } from '../../testing/unique-ids';
import { Sealer } from '../seal';
import { SigningKeyStore } from './redis-signing-key-store';
import { findSigner, SigningKeys, toJwks } from './signing-keys';

let redis: TestRedis;
beforeAll(async () => {
  redis = await openTestRedis();
});
afterAll(() => redis.close());

const START = 1_700_000_000_000;
const LEAD = 3_600_000;

async function arrange({ sealer = testSealer } = {}) {
  let now = START;
  let rotations = 0;
  const signals = recordSignals();
  const accountStore = new AccountStore(redis.client);
  const accountId = uniqueAccountId();
  await accountStore.create({ id: accountId, createdAt: START });
  const signingKeyStore = new SigningKeyStore(redis.client, sealer);
  const context = {
    signingKeyStore,
    accountStore,
    keyLeadMs: LEAD,
    clock: () => now,
    emit: signals.listen,
  };
  const signingKeys = new SigningKeys(context);
  const jwks = async () => toJwks(await signingKeys.list(accountId));
  return {
    accountId,
    accountStore,
    signingKeyStore,
    context,
    signingKeys,
    signals,
    jwks,
    kids: async () => (await jwks()).keys.map(({ kid }) => kid),
    signer: async () => (await findSigner(context, accountId)).kid,
    rotate: (immediate = false, rotation = `rot_${(rotations += 1)}`) =>
      signingKeys.rotate(accountId, { immediate }, rotation),
    pass(ms: number) {
      now += ms;
    },
    raw: () => redis.client.get(keys.signingKeys(accountId)),
  };
}

describe('the first key', () => {
  it('is made on first use, signs at once, and is the same for whoever asks at the same time', async () => {
    const { context, accountId, jwks } = await arrange();
    expect(await jwks()).toEqual({ keys: [] });
    const other = { ...context, signingKeyStore: new SigningKeyStore(redis.client, testSealer) };
    const signers = await Promise.all(
      [context, other, context, other].map((each) => findSigner(each, accountId)),
    );
    const [kid] = new Set(signers.map((signer) => signer.kid));
    expect(new Set(signers.map((signer) => signer.kid)).size).toBe(1);
    expect((await jwks()).keys.map((key) => key.kid)).toEqual([kid]);
  });

  it('is published in the form of RFC 8037, and verifies what its private half signs', async () => {
    const { context, accountId, jwks } = await arrange();
    const { kid, privateKey } = await findSigner(context, accountId);
    const { keys: published } = await jwks();
    expect(published).toEqual([
      { kty: 'OKP', crv: 'Ed25519', x: expect.stringMatching(/^[\w-]{43}$/), kid, use: 'sig', alg: 'EdDSA' },
    ]);
    const [{ kty, crv, x } = { kty: '', crv: '', x: '' }] = published;
    const publicKey = createPublicKey({ key: { kty, crv, x }, format: 'jwk' });
    const message = Buffer.from('a message');
    expect(verify(null, message, publicKey, sign(null, message, privateKey))).toBe(true);
  });

  it('is sealed, for its own account alone', async () => {
    const { context, signingKeys, accountId, raw, signingKeyStore } = await arrange();
    const { privateKey } = await findSigner(context, accountId);
    const der = privateKey.export({ format: 'der', type: 'pkcs8' });
    expect(await raw()).toContain('"privateKey":"sealed.v1.');
    for (const encoding of ['base64', 'base64url', 'hex'] as const) {
      expect(await raw()).not.toContain(der.subarray(-32).toString(encoding));
    }
    const [key] = (await signingKeys.ensure(accountId)).keys;
    if (!key) throw new Error('no key');
    expect(() => signingKeyStore.open(uniqueAccountId(), key)).toThrow(
      expect.objectContaining({ code: 'secret_unreadable' }),
    );
    expect(() => new SigningKeyStore(redis.client, new Sealer([])).open(accountId, key)).toThrow(
      expect.objectContaining({ code: 'secret_unreadable' }),
    );
  });
});

describe('a rotation', () => {
  it('publishes the next key for the lead before it signs, and the former one for a day after', async () => {
    const { rotate, signer, kids, pass, signals } = await arrange();
    const former = await signer();
    const [next, signing] = await rotate();
    expect([next?.status, signing?.status, signing?.key.kid]).toEqual(['next', 'signing', former]);
    const kid = next?.key.kid;
    expect(await kids()).toEqual([kid, former]);
    expect(await signer()).toBe(former);
    pass(LEAD - 1);
    expect(await signer()).toBe(former);
    pass(1);
    expect(await signer()).toBe(kid);
    expect(await kids()).toEqual([kid, former]);
    pass(FORMER_KEY_MS);
    expect(await kids()).toEqual([kid]);
    expect(signals.named('signing_key.rotated')).toMatchObject([{ kid, immediate: false }]);
  });

  it('changes nothing while a key waits for its turn, nor when it is repeated', async () => {
    const { rotate, raw, signer } = await arrange();
    await signer();
    await rotate(false, 'rot_a');
    const before = await raw();
    await rotate(false, 'rot_b');
    await rotate(false, 'rot_a');
    expect(await raw()).toBe(before);
  });

  it('after a leak leaves nothing but the new key, which signs at once', async () => {
    const { rotate, signer, kids, pass } = await arrange();
    const leaked = await signer();
    await rotate();
    pass(LEAD);
    await rotate();
    const before = await kids();
    expect(before).toHaveLength(3);
    const [only, ...others] = await rotate(true, 'rot_leak');
    expect(others).toEqual([]);
    expect([...before, leaked]).not.toContain(only?.key.kid);
    expect(await kids()).toEqual([only?.key.kid]);
    expect(await signer()).toBe(only?.key.kid);
    await rotate(true, 'rot_leak');
    expect(await kids()).toEqual([only?.key.kid]);
  });

  it('of an account without a key makes its first one', async () => {
    const { rotate, signer } = await arrange();
    const [first, ...others] = await rotate();
    expect([first?.status, others]).toEqual(['signing', []]);
    expect(await signer()).toBe(first?.key.kid);
  });

  it('is refused while too many keys are published, but not after a leak', async () => {
    const { rotate, kids, pass, signer } = await arrange();
    await signer();
    for (let i = 0; i < 9; i += 1) {
      await rotate();
      pass(LEAD);
    }
    expect(await kids()).toHaveLength(10);
    await expect(rotate()).rejects.toMatchObject({ code: 'conflict' });
    await rotate(true);
    expect(await kids()).toHaveLength(1);
  });

  it('happens once when many ask at the same time', async () => {
    const { rotate, signer, kids, signals } = await arrange();
    await signer();
    await Promise.all(Array.from({ length: 10 }, () => rotate()));
    expect(await kids()).toHaveLength(2);
    expect(signals.named('signing_key.rotated')).toHaveLength(1);
  });

  it('leaves nothing behind for an account that is gone', async () => {
    const { rotate, accountStore, accountId, raw } = await arrange();
    await accountStore.markErasing(accountId, START);
    await expect(rotate()).rejects.toMatchObject({ code: 'not_found' });
    expect(await raw()).toBeNull();
  });

  it('seals all keys under the sealing key of now', async () => {
    const { signer, raw, context, accountId } = await arrange();
    await signer();
    const before = JSON.parse((await raw()) ?? '').keys[0].privateKey;
    const newKey = Buffer.alloc(32, 'new').toString('base64');
    const sealer = new Sealer(sealingKeysSchema.parse(`${newKey},${TEST_ENCRYPTION_KEY}`));
    const signingKeyStore = new SigningKeyStore(redis.client, sealer);
    await new SigningKeys({ ...context, signingKeyStore }).rotate(accountId, { immediate: false }, 'rot_new');
    const record = await signingKeyStore.find(accountId);
    const former = record?.keys[1];
    if (!former) throw new Error('no former key');
    expect(former.privateKey).not.toBe(before);
    const withNewKey = new SigningKeyStore(redis.client, new Sealer(sealingKeysSchema.parse(newKey)));
    expect(withNewKey.open(accountId, former).asymmetricKeyType).toBe('ed25519');
    expect(signingKeyStore.open(accountId, former).asymmetricKeyType).toBe('ed25519');
  });
});
