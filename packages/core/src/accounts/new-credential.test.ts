import { createNewId, createSeededNewId } from '../kernel/ids';
import { createSeededSecretBytes } from '../kernel/secret-bytes';
import { idOfKey } from '../model/api-key';
import { newApiKey } from './new-credential';

describe('newApiKey', () => {
  it('has the form that secret scanners look for', () => {
    expect(newApiKey(createNewId(Date.now))).toMatch(/^whk_[0-9a-z]{16}_[0-9A-Za-z]{52}$/);
  });

  it('is never the same twice, in either part', () => {
    const newId = createNewId(() => 0);
    const keys = Array.from({ length: 1_000 }, () => newApiKey(newId));
    expect(new Set(keys.map(idOfKey)).size).toBe(keys.length);
    expect(new Set(keys.map((key) => key.slice(-52))).size).toBe(keys.length);
  });

  it('is the same of the same ids and bytes, and has another secret part for who has other bytes', () => {
    const keyOf = (secret: string) =>
      newApiKey(createSeededNewId(0, 'seed'), createSeededSecretBytes(secret, 'seed'));
    expect(keyOf('mine')).toBe(keyOf('mine'));
    expect(idOfKey(keyOf('mine'))).toBe(idOfKey(keyOf('other')));
    expect(keyOf('mine').slice(-52)).not.toBe(keyOf('other').slice(-52));
  });
});
