import { idOfKey } from './api-key';
import { newApiKey } from './new-api-key';

describe('newApiKey', () => {
  it('has the form that secret scanners look for', () => {
    expect(newApiKey()).toMatch(/^whk_[0-9a-z]{16}_[0-9A-Za-z]{43}$/);
  });

  it('is never the same twice, in either part', () => {
    const keys = Array.from({ length: 1_000 }, newApiKey);
    expect(new Set(keys.map(idOfKey)).size).toBe(keys.length);
    expect(new Set(keys.map((key) => key.slice(-43))).size).toBe(keys.length);
  });
});
