import { createSeededSecretBytes, newSecretBytes } from './secret-bytes';

const draw = (bytes: (count: number) => Buffer) => [bytes(32), bytes(32), bytes(52)].map(String);

it('gives as many bytes as are asked for', () => {
  for (const bytes of [newSecretBytes, createSeededSecretBytes('secret', 'seed')]) {
    expect([1, 52].map((count) => bytes(count).length)).toEqual([1, 52]);
  }
});

it('gives the same bytes from the same secret and seed, and none of them twice', () => {
  const first = draw(createSeededSecretBytes('secret', 'seed'));
  expect(draw(createSeededSecretBytes('secret', 'seed'))).toEqual(first);
  expect(new Set(first).size).toBe(first.length);
});

it('gives other bytes from another secret or another seed', () => {
  const [first] = draw(createSeededSecretBytes('secret', 'seed'));
  expect(draw(createSeededSecretBytes('other', 'seed'))).not.toContain(first);
  expect(draw(createSeededSecretBytes('secret', 'other'))).not.toContain(first);
});
