import { buildApiKey } from '../testing/build-api-key';
import { hashKey, idOfKey, isSameKey } from './account';

const ID = '0123456789abcdef';

describe('idOfKey', () => {
  it.each([`whk_${ID}_${'A'.repeat(32)}`, `whk_${ID}_${'z9'.repeat(64)}`])('finds the id in %s', (key) => {
    expect(idOfKey(key)).toBe(ID);
  });

  it.each([
    ['', 'nothing'],
    [`whk_${ID}_${'A'.repeat(31)}`, 'a secret part of 31'],
    [`whk_${ID}_${'A'.repeat(129)}`, 'a secret part of 129'],
    [`whk_${ID}_${'A'.repeat(31)}-`, 'another character in the secret part'],
    [`whk_${ID.slice(1)}_${'A'.repeat(32)}`, 'an id of 15'],
    [`whk_${ID.toUpperCase()}_${'A'.repeat(32)}`, 'upper case in the id'],
    [`wh_${ID}_${'A'.repeat(32)}`, 'another prefix'],
    [` whk_${ID}_${'A'.repeat(32)}`, 'white space before it'],
    [`whk_${ID}_${'A'.repeat(32)}\n`, 'a line feed after it'],
  ])('finds none in %j: %s', (key) => {
    expect(idOfKey(key)).toBeUndefined();
  });
});

describe('isSameKey', () => {
  it('knows the key that was issued, and no other one of the same id', () => {
    const { key, record } = buildApiKey();
    expect(isSameKey(record, key)).toBe(true);
    expect(isSameKey(record, `${key}0`)).toBe(false);
    expect(isSameKey(record, buildApiKey().key)).toBe(false);
    expect(isSameKey(undefined, key)).toBe(false);
  });
});

describe('hashKey', () => {
  it('is the SHA-256 of the whole key in hex', () => {
    expect(hashKey('abc')).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
  });
});
